"""The asset `profiles` without a prefix: the catalog over all sweeps.

Promise: it brings every profile up to date that lacks rollouts, records that on the sweep's own `profiles`, and then
writes the cross-sweep table. A sweep that cannot be profiled is left out, and named in the failure at the end.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from reward_profiling.assets.failures import one_line
from reward_profiling.assets.profile_metadata import data_version, environments_table, profile_metadata, state, verdict
from reward_profiling.assets.profiles import refresh_sweep
from reward_profiling.assets.sweep import CATALOG_GROUP, Sweep
from reward_profiling.assets.tables import column_schema
from reward_profiling.errors import IncompleteError, RewardProfilingError
from reward_profiling.profile.catalog import Catalog, build_catalog, is_profiled
from reward_profiling.profile.refresh import is_current
from reward_profiling.profile.sweep_profile import SweepProfile
from reward_profiling.sweep.completeness import load_plan, look

KEY = dg.AssetKey(["profiles"])


def catalog_asset(sweeps: Sequence[Sweep], directory: Path) -> dg.AssetsDefinition:
    """The catalog of the given sweeps, written into `directory`."""

    @dg.asset(
        key=KEY,
        group_name=CATALOG_GROUP,
        deps=[sweep.key("profiles") for sweep in sweeps],
        kinds={"duckdb", "parquet"},
        description="All environments of all sweeps in one table. Materializing it refreshes what has new rollouts.",
    )
    def profiles(context: dg.AssetExecutionContext) -> Iterator[Any]:
        taken, problems = [], []
        for sweep in sweeps:
            try:
                if _bring_up_to_date(context, sweep):
                    taken.append(sweep)
            except IncompleteError as error:
                context.log.warning(f"{sweep.nickname} is left out: {error}")
            except RewardProfilingError as error:
                problems.append(f"{sweep.nickname} is left out: {error}")
        with one_line():
            catalog = build_catalog([sweep.directory for sweep in taken], directory)
        yield dg.MaterializeResult(
            data_version=dg.DataVersion(data_version(catalog.environments)), metadata=_metadata(catalog)
        )
        if problems:
            raise dg.Failure(description="; ".join(problems), allow_retries=False)

    return profiles


def _bring_up_to_date(context: dg.AssetExecutionContext, sweep: Sweep) -> bool:
    """Profile the sweep if its profile lacks rollouts; False when there is nothing of it to show."""
    if not sweep.directory.report.exists():
        context.log.info(f"{sweep.nickname}: not materialized yet")
        return False
    plan = load_plan(sweep.directory, os.environ)
    if is_current(plan):
        return True
    collected = any(look(plan, number).rows for number in range(plan.report.num_shards))
    if not collected and not is_profiled(sweep.directory):
        context.log.info(f"{sweep.nickname}: nothing collected yet")
        return False
    made = refresh_sweep(sweep)
    context.log.info(f"{sweep.nickname}: profiled, {state(made)}")
    _record(context, sweep.key("profiles"), made)
    return True


def _record(context: dg.AssetExecutionContext, key: dg.AssetKey, made: SweepProfile) -> None:
    """Say on the sweep's own asset that its profile is new."""
    context.log_event(
        dg.AssetMaterialization(
            asset_key=key,
            description=state(made),
            metadata=profile_metadata(made),
            tags={"dagster/data_version": data_version(made.summary)},
        )
    )
    context.log_event(verdict(made).evaluation(key))


def _metadata(catalog: Catalog) -> dict[str, Any]:
    environments = catalog.environments
    partial = environments.filter(~environments["complete"])["nickname"].unique(maintain_order=True)
    return {
        "dagster/row_count": environments.height,
        "dagster/column_schema": column_schema(dict(environments.schema)),
        "sweeps": environments["nickname"].n_unique(),
        "partial_sweeps": ", ".join(partial),
        "simulated": bool(environments["simulated"].any()),
        "environments": environments_table(environments, "nickname"),
        "manifest_digests": ", ".join(environments["manifest_digest"].unique(maintain_order=True)),
        "table": dg.MetadataValue.path(catalog.parquet),
        "database": dg.MetadataValue.path(catalog.database),
    }
