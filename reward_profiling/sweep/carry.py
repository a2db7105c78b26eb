"""Building another layout of a sweep beside the one that is there: work lists, rollouts, failures, what was rejected.

Promise: every row of the old layout lies, with its exact bytes, in the new shard that owns its key, the rows of one old
file in their old order; a failed attempt of a key that its shard does not own goes to `rejected.jsonl`, as do the old
layout's rejected lines. The old layout is only read, and the datasets are not needed.
"""

import os
import shutil

import polars as pl

from reward_profiling.errors import SweepError
from reward_profiling.files import append_json_line, storage_error
from reward_profiling.sweep.byte_ranges import copy_rows, deal_lines, uncovered
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.deal import in_dispatch_order, keys_of, owner, with_first_row
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.opened import open_shard
from reward_profiling.sweep.report import ShardRecord, write_shard_record
from reward_profiling.sweep.spools import spools

_KEY = ["task_index", "rollout_index"]


def keys_in_order(plan: Plan) -> pl.DataFrame:
    """All keys of the sweep in the order in which shards dispatch them: `task_index`, `rollout_index`, `label`,
    `first_row` (see `deal.owner`), and the number of the shard that owns them, `source`."""
    tasks = in_dispatch_order(with_first_row(plan.tasks), plan.report.layout)
    first_rows = tasks.select("task_index", "first_row")
    keys = keys_of(tasks).join(first_rows, on="task_index", maintain_order="left")
    return keys.with_columns(source=owner(plan.report.layout).cast(pl.Int64))


def dealt_keys(plan: Plan, after: Plan) -> pl.DataFrame:
    """`keys_in_order` of `plan` with the shard that owns them in `after`, `target`."""
    target = owner(after.report.layout).cast(pl.Int64)
    return keys_in_order(plan).select(*_KEY, "source", target=target)


def shards_of(plan: Plan) -> list[ShardDir]:
    """The shards of a plan, by number."""
    return [plan.sweep.shard(number) for number in range(plan.report.num_shards)]


def carry_work_lists(plan: Plan, after: Plan, keys: pl.DataFrame) -> None:
    """Write the work lists of `after` and their records from those of `plan`; `keys` are `dealt_keys`."""
    shards = shards_of(after)
    with spools([shard.work_list for shard in shards]) as targets:
        deal_lines([shard.work_list for shard in shards_of(plan)], keys, targets)
    counts = keys.group_by("target").agg(tasks=pl.col("task_index").n_unique(), rollouts=pl.len())
    found = {number: (tasks, rollouts) for number, tasks, rollouts in counts.iter_rows()}
    for number, shard in enumerate(shards):
        tasks, rollouts = found.get(number, (0, 0))
        record = ShardRecord(
            shard=shard.name,
            tasks_digest=after.report.tasks_digest,
            layout=after.report.layout,
            tasks=tasks,
            rollouts=rollouts,
            work_list_bytes=targets.written[number],
        )
        write_shard_record(shard, record)


def carry_rows(plan: Plan, after: Plan, keys: pl.DataFrame) -> None:
    """Copy what was collected; the files of `plan` must be repaired. `keys` are `dealt_keys`."""
    shards = shards_of(after)
    with (
        spools([shard.rollouts for shard in shards]) as rollouts,
        spools([shard.failures for shard in shards]) as failures,
    ):
        for number, shard in enumerate(shards_of(plan)):
            own = keys.filter(source=number).select(*_KEY, "target")
            with open_shard(shard) as files:
                collected = files.index.rollouts.join(own, on=_KEY)
                if collected.height != files.index.rollouts.height:
                    raise SweepError("there are rollouts of other shards", place=str(shard.rollouts), cure="run again")
                copy_rows(files.rollouts, collected, rollouts)
                failed = files.index.failures.join(own, on=_KEY)
                copy_rows(files.failures, failed, failures)
            _reject(shard, failed, shards[number % len(shards)])
    _keep_times(plan, after)


def _keep_times(plan: Plan, after: Plan) -> None:
    """Let the new files be as old as their newest rows can be: their age tells whether something still collects."""
    stats = [path.stat() for shard in shards_of(plan) for path in (shard.rollouts, shard.failures)]
    newest = max((stat.st_mtime for stat in stats if stat.st_size), default=0.0)
    for shard in shards_of(after):
        for path in (shard.rollouts, shard.failures):
            os.utime(path, (newest, newest))


def _reject(shard: ShardDir, failed: pl.DataFrame, target: ShardDir) -> None:
    """Keep what no shard owns: the lines that were rejected before, and failed attempts that are not in `failed`."""
    try:
        if shard.rejected.exists():
            with shard.rejected.open("rb") as source, target.rejected.open("ab") as stream:
                shutil.copyfileobj(source, stream)
        size = shard.failures.stat().st_size
        if size == failed["length"].sum():
            return
        with shard.failures.open("rb") as stream:
            for offset, length in uncovered(failed, size):
                stream.seek(offset)
                for line in stream.read(length).splitlines(keepends=True):
                    if not line.isspace():
                        record = {"file": shard.failures.name, "reason": "foreign", "line": line.decode()}
                        append_json_line(target.rejected, record)
    except OSError as error:
        raise storage_error(shard.path, error) from error
