"""The Dagster code location: one asset group per manifest found, the catalog over all sweeps, and the squeue sensor.

Manifests are the `*.yaml` in REWARD_PROFILING_MANIFESTS_DIR (default `manifests`), sweeps lie under
REWARD_PROFILING_SWEEPS_DIR (default `sweeps`), both relative to the working directory.
"""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from reward_profiling.assets.catalog import catalog_asset
from reward_profiling.assets.manifest import broken_manifest_asset, manifest_asset
from reward_profiling.assets.profiles import profiles_asset
from reward_profiling.assets.rollouts import rollouts_asset
from reward_profiling.assets.shards import shards_asset
from reward_profiling.assets.sweep import Sweep, find_sweeps
from reward_profiling.assets.tasks import tasks_asset
from reward_profiling.resources.launching import SweepLauncher
from reward_profiling.sensors.squeue import squeue_sensor

MANIFESTS_VARIABLE = "REWARD_PROFILING_MANIFESTS_DIR"
SWEEPS_VARIABLE = "REWARD_PROFILING_SWEEPS_DIR"


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads."""
    return build(os.environ)


def build(environ: Mapping[str, str], launcher: SweepLauncher | None = None) -> dg.Definitions:
    """The definitions that `environ` asks for; `launcher` replaces the one that it asks for."""
    manifests = Path(environ.get(MANIFESTS_VARIABLE) or "manifests").absolute()
    sweeps_dir = Path(environ.get(SWEEPS_VARIABLE) or "sweeps").absolute()
    found = find_sweeps(manifests, sweeps_dir, environ)
    with warnings.catch_warnings():
        # Backfills in a single run are marked beta; the constraints file pins the version they were tried with.
        warnings.simplefilter("ignore", dg.BetaWarning)
        assets = [asset for sweep in found.sweeps for asset in sweep_assets(sweep)]
    return dg.Definitions(
        assets=[*assets, catalog_asset(found.sweeps, sweeps_dir), *map(broken_manifest_asset, found.broken)],
        sensors=[squeue_sensor(found.sweeps)] if found.sweeps else [],
        resources={"launcher": launcher or SweepLauncher.from_environment(environ)},
        # One process per run: a run mostly waits, and a process per step would double its memory.
        executor=dg.in_process_executor,
    )


def sweep_assets(sweep: Sweep) -> list[dg.AssetsDefinition]:
    """The assets of one sweep, upstream first."""
    builders = (manifest_asset, tasks_asset, shards_asset, rollouts_asset, profiles_asset)
    return [builder(sweep) for builder in builders]
