"""The `profiles` asset of a sweep: what its rollouts say of each environment so far."""

import os

import dagster as dg

from reward_profiling.assets.failures import one_line
from reward_profiling.assets.profile_metadata import data_version, profile_metadata, verdict
from reward_profiling.assets.sweep import ONE_RUN, Sweep
from reward_profiling.checks import complete
from reward_profiling.profile.refresh import refresh
from reward_profiling.profile.sweep_profile import SweepProfile


def profiles_asset(sweep: Sweep) -> dg.AssetsDefinition:
    """Materializing it profiles what is there; a partial profile fails the check `complete`."""
    key = sweep.key("profiles")

    @dg.asset(
        key=key,
        group_name=sweep.group,
        deps=[sweep.key("rollouts"), sweep.key("manifest")],
        backfill_policy=ONE_RUN,
        check_specs=[complete.spec(key)],
        kinds={"polars", "parquet"},
        description="The reward distribution of each task, a table per environment, and a summary of all.",
    )
    def profiles() -> dg.MaterializeResult:  # type: ignore[type-arg]
        with one_line():
            made = refresh_sweep(sweep)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(data_version(made.summary)),
            metadata=profile_metadata(made),
            check_results=[verdict(made).result(key)],
        )

    return profiles


def refresh_sweep(sweep: Sweep) -> SweepProfile:
    """Profile a sweep as its manifest allows."""
    allowed = sweep.loaded.manifest.gym_eval_profile.allow_partial_rollouts
    return refresh(sweep.directory, os.environ, allow_partial=allowed)
