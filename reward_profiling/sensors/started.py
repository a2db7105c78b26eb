"""Which shards the sensor takes care of: those that somebody started and no run is looking after.

Promise: a shard is started when its latest run in this Dagster instance failed. What was never requested here, what is
done, what a run is at, and what a person cancelled is left alone.
"""

from collections.abc import Iterator

import dagster as dg

from reward_profiling.assets.sweep import Sweep
from reward_profiling.sweep.layout import shard_number


def started(instance: dg.DagsterInstance, sweep: Sweep) -> Iterator[int]:
    """The numbers of the shards of `sweep` that the sensor takes care of."""
    key, names = sweep.key("rollouts"), sweep.partitions.get_partition_keys()
    status = instance.get_status_by_partition(key, names, sweep.partitions) or {}
    for name in names:
        number = shard_number(name)
        failed = status.get(name) == dg.AssetPartitionStatus.FAILED
        if number is not None and failed and not _cancelled(instance, key, name):
            yield number


def _cancelled(instance: dg.DagsterInstance, key: dg.AssetKey, partition: str) -> bool:
    """Whether the latest run of a failed partition was cancelled: its status goes on saying "failed" then."""
    planned = instance.get_latest_planned_materialization_info(key, partition)
    run = instance.get_run_by_id(planned.run_id) if planned is not None else None
    return run is not None and run.status == dg.DagsterRunStatus.CANCELED
