"""The `shards` asset: the work list of each shard, one static partition per shard."""

from typing import Any

import dagster as dg

from reward_profiling.assets.failures import one_line
from reward_profiling.assets.sweep import ONE_RUN, Sweep
from reward_profiling.errors import SweepError
from reward_profiling.sweep.layout import ShardDir, shard_name, shard_number
from reward_profiling.sweep.materialize import stage_shard
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
            for number in requested_shards(context, report):
                record = stage_shard(sweep.directory, number)
                context.add_asset_metadata(_metadata(sweep.directory.shard(number), record), partition_key=record.shard)
        return dg.MaterializeResult(metadata={"manifest_digest": report.manifest_digest})

    return shards


def requested_shards(context: dg.AssetExecutionContext, report: SweepReport) -> list[int]:
    """The shards whose partitions a run is to materialize; refused when the task table was not dealt over them."""
    numbers = [number for key in context.partition_keys if (number := shard_number(key)) is not None]
    if max(numbers) >= report.num_shards:
        raise SweepError(
            f"{shard_name(max(numbers))} is asked for, and the tasks are dealt over {report.num_shards} shards",
            place=report.nickname,
            cure="materialize `tasks` for the manifest as it is now, then reload the definitions",
        )
    return numbers


def _metadata(shard: ShardDir, record: ShardRecord) -> dict[str, Any]:
    return {
        "dagster/row_count": record.rollouts,
        "tasks": record.tasks,
        "bytes": record.work_list_bytes,
        "tasks_digest": record.tasks_digest,
        "work_list": dg.MetadataValue.path(shard.work_list),
    }
