"""The `tasks` asset: the task table, one row per task of the sweep, and the snapshot of the manifest that it is of."""

import os
from typing import Any

import dagster as dg

from reward_profiling.assets.failures import one_line
from reward_profiling.assets.sweep import ONE_RUN, Sweep
from reward_profiling.assets.tables import column_schema, markdown
from reward_profiling.sweep.materialize import Effort, stage_manifest, stage_tasks
from reward_profiling.sweep.progress import ProgressLines
from reward_profiling.sweep.report import SweepReport
from reward_profiling.sweep.request import request_from
from reward_profiling.sweep.settle import Consent
from reward_profiling.sweep.tasks import TASK_SCHEMA


def tasks_asset(sweep: Sweep) -> dg.AssetsDefinition:
    """Materializing it reads every dataset once; what would renumber or redefine collected rollouts is refused."""

    @dg.asset(
        key=sweep.key("tasks"),
        group_name=sweep.group,
        deps=[sweep.key("manifest")],
        backfill_policy=ONE_RUN,
        kinds={"parquet"},
        description="The task table: which row of which dataset is which task, and how often it is repeated.",
    )
    def tasks(context: dg.AssetExecutionContext) -> dg.MaterializeResult:  # type: ignore[type-arg]
        with one_line():
            request = request_from(sweep.loaded)
            # A sweep without rollouts is replaced by what this asset is asked to make; nothing collected ever is.
            consent = Consent(overwrite=True)
            effort = Effort(os.cpu_count() or 1, context.log.info, ProgressLines(context.log.info))
            report = stage_tasks(sweep.directory, request, consent=consent, effort=effort)
            stage_manifest(sweep.directory, request)
        return dg.MaterializeResult(data_version=dg.DataVersion(report.tasks_digest), metadata=_metadata(sweep, report))

    return tasks


def _metadata(sweep: Sweep, report: SweepReport) -> dict[str, Any]:
    entries = (
        (entry.label, entry.agent, entry.rows, entry.tasks, entry.repeats, entry.rollouts, entry.limit)
        for entry in report.entries
    )
    return {
        "dagster/row_count": report.tasks,
        "dagster/column_schema": column_schema(TASK_SCHEMA),
        "rollouts_expected": report.rollouts,
        "entries": markdown(("label", "agent", "rows", "tasks", "repeats", "rollouts", "limit"), entries),
        "tasks_digest": report.tasks_digest,
        "manifest_digest": report.manifest_digest,
        "sample": report.sample,
        "tasks": dg.MetadataValue.path(sweep.directory.tasks),
        "report": dg.MetadataValue.path(sweep.directory.report),
        "snapshot": dg.MetadataValue.path(sweep.directory.manifest),
        "sweep_config": dg.MetadataValue.path(sweep.directory.sweep_config),
    }
