"""The `shards` asset: the work list of each shard, one static partition per shard."""

import os
from typing import Any

import dagster as dg

from reward_profiling.assets.failures import one_line
from reward_profiling.assets.sweep import ONE_RUN, Sweep
from reward_profiling.errors import SweepError
from reward_profiling.sweep.layout import ShardDir, shard_number
from reward_profiling.sweep.materialize import Effort, stage_shards
from reward_profiling.sweep.progress import ProgressLines
from reward_profiling.sweep.report import ShardRecord, SweepReport, read_report


def shards_asset(sweep: Sweep) -> dg.AssetsDefinition:
    """Materializing it writes the work lists of the requested shards, in one run."""

    @dg.asset(
        key=sweep.key("shards"),
        group_name=sweep.group,
        deps=[sweep.key("tasks"), sweep.key("manifest")],
        partitions_def=sweep.partitions,
        backfill_policy=ONE_RUN,
        kinds={"jsonl"},
        description="What each job is to collect: one line per task and repeat.",
    )
    def shards(context: dg.AssetExecutionContext) -> dg.MaterializeResult:  # type: ignore[type-arg]
        with one_line():
            report = read_report(sweep.directory)
            effort = Effort(os.cpu_count() or 1, context.log.info, ProgressLines(context.log.info))
            for number, record in stage_shards(
                sweep.directory, requested_shards(context, sweep, report), effort=effort
            ):
                context.add_asset_metadata(_metadata(sweep.directory.shard(number), record), partition_key=record.shard)
        return dg.MaterializeResult(metadata={"manifest_digest": report.manifest_digest})

    return shards


def requested_shards(context: dg.AssetExecutionContext, sweep: Sweep, report: SweepReport) -> list[int]:
    """The shards whose partitions a run is to materialize; refused unless the partitions are the shards there are."""
    partitions = sweep.loaded.manifest.num_shards
    if partitions != report.num_shards:
        raise SweepError(
            f"the tasks are dealt over {report.num_shards} shards, and the manifest says {partitions}",
            place=sweep.loaded.place("num_shards"),
            cure=f"say num_shards: {report.num_shards}, or materialize `tasks`; then reload the definitions",
        )
    return [number for key in context.partition_keys if (number := shard_number(key)) is not None]


def _metadata(shard: ShardDir, record: ShardRecord) -> dict[str, Any]:
    return {
        "dagster/row_count": record.rollouts,
        "tasks": record.tasks,
        "bytes": record.work_list_bytes,
        "tasks_digest": record.tasks_digest,
        "work_list": dg.MetadataValue.path(shard.work_list),
    }
