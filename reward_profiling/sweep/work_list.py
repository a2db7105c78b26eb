"""Writing work lists: each once, in place, from the original bytes; several shards at a time.

Promise: `rollouts_materialized_inputs.jsonl` holds each task of the shard in dispatch order, all its repeats next to
each other, one line per (task, repeat); it appears under its name only when it is whole. The same task table, layout
and sources give the same bytes, also when a single shard is written again. A source whose rows are no longer those of
the task table is refused. Collected rollouts are never touched. Beside the file itself no disk is used, and what an
earlier writer left behind when it was killed is removed first.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from reward_profiling.files import atomic_path, remove, remove_temporaries
from reward_profiling.sweep.deal import Layout, in_dispatch_order, keys_of, tasks_of_shard
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.progress import QUIET, Progress
from reward_profiling.sweep.report import ShardRecord, SweepReport, write_shard_record
from reward_profiling.sweep.rows import RowRule, encode_again, work_line_end, work_line_head
from reward_profiling.sweep.source_reader import SourceReader
from reward_profiling.sweep.vector_file import VectorFile
from reward_profiling.sweep.workers import Advance, in_order

_COLUMNS = ("task_index", "label", "agent", "verbatim", "first_repeat", "repeats", "repeat_step")
_ADDED_BYTES = 80
"""About what the three keys add to a row."""
_ALONE_BYTES = 512 << 20


def write_shards(
    sweep: SweepDir,
    numbers: Sequence[int],
    table: pl.DataFrame,
    report: SweepReport,
    *,
    jobs: int = 1,
    progress: Progress = QUIET,
) -> Iterator[ShardRecord]:
    """Write work lists and records of shards, up to `jobs` at a time; `table` is the task table of `report`.

    Only one process may do so for a sweep at a time.
    """
    layout, digest = report.layout, report.tasks_digest
    parts = (
        (sweep.shard(number), in_dispatch_order(tasks_of_shard(table, number, layout), layout), layout, digest)
        for number in numbers
    )
    lines = (pl.col("byte_length") + _ADDED_BYTES) * pl.col("repeats")
    total = int(table.select(lines.sum()).item()) * len(numbers) // layout.num_shards
    progress.begin("writing work lists", total)
    # Starting processes takes longer than writing a little.
    yield from in_order(_write_shard, parts, min(jobs, len(numbers)) if total > _ALONE_BYTES else 1, progress.at)


def _write_shard(advance: Advance, shard: ShardDir, tasks: pl.DataFrame, layout: Layout, digest: str) -> ShardRecord:
    # A work list that is written again is of no use any more, and its place may be needed.
    remove(shard.work_list)
    remove_temporaries(shard.work_list)
    with atomic_path(shard.work_list) as temporary, VectorFile(temporary, advance) as target, SourceReader() as source:
        rows = zip(tasks.select(_COLUMNS).iter_rows(), source.bodies(tasks), strict=True)
        for (task, label, agent, verbatim, *repeats), body in rows:
            head = work_line_head(body if verbatim else encode_again(body, RowRule(agent)), label, task)
            for repeat in range(*repeats):
                target.add(head)
                target.add(work_line_end(repeat))
    record = ShardRecord(
        shard=shard.name,
        tasks_digest=digest,
        layout=layout,
        tasks=tasks.height,
        rollouts=keys_of(tasks).height,
        work_list_bytes=target.written,
    )
    write_shard_record(shard, record)
    return record
