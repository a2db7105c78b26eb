"""Writing one shard's work list: once, in place, from the original bytes.

Promise: `rollouts_materialized_inputs.jsonl` holds each task of the shard in task order, all repeats of a task next to
each other, one line per (task, repeat); it appears under its name only when it is whole. The same task table and
sources give the same bytes, also when a single shard is written again. A source whose rows are no longer those of the
task table is refused. Collected rollouts are never touched.
"""

import os
from collections.abc import Iterator

import polars as pl

from reward_profiling.errors import DatasetError
from reward_profiling.files import atomic_file
from reward_profiling.sweep.deal import Layout, in_dispatch_order, keys_of, tasks_of_shard
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.report import ShardRecord, write_shard_record
from reward_profiling.sweep.rows import RowRule, encode_again, work_lines
from reward_profiling.sweep.sources import content_hash

_COLUMNS = (
    "task_index",
    "label",
    "agent",
    "byte_offset",
    "byte_length",
    "content_hash",
    "verbatim",
    "first_repeat",
    "repeats",
    "repeat_step",
)


def write_shard(sweep: SweepDir, number: int, table: pl.DataFrame, layout: Layout, digest: str) -> ShardRecord:
    """Write shard `number`'s work list and record. `digest` is that of the task `table`."""
    shard = sweep.shard(number)
    tasks = in_dispatch_order(tasks_of_shard(table, number, layout), layout)
    written = 0
    with atomic_file(shard.work_list) as stream:
        for lines in _work_lines(tasks):
            stream.write(lines)
            written += len(lines)
    record = ShardRecord(
        shard=shard.name,
        tasks_digest=digest,
        layout=layout,
        tasks=tasks.height,
        rollouts=keys_of(tasks).height,
        work_list_bytes=written,
    )
    write_shard_record(shard, record)
    return record


def _work_lines(tasks: pl.DataFrame) -> Iterator[bytes]:
    for (_, source), rows in tasks.group_by("label", "source", maintain_order=True):
        yield from _lines_of_source(str(source), rows)


def _lines_of_source(source: str, rows: pl.DataFrame) -> Iterator[bytes]:
    try:
        descriptor = os.open(source, os.O_RDONLY)
    except OSError as error:
        raise DatasetError(
            f"the dataset cannot be read: {error.strerror}", place=source, cure="restore it and run again"
        ) from error
    try:
        for task, label, agent, offset, length, expected, verbatim, *repeats in rows.select(_COLUMNS).iter_rows():
            body = os.pread(descriptor, length, offset)
            if content_hash(body) != expected:
                raise DatasetError(
                    f"the row at byte {offset} is no longer the one that was indexed",
                    place=source,
                    cure="restore the dataset, or materialize again under a new nickname",
                )
            yield work_lines(body if verbatim else encode_again(body, RowRule(agent)), label, task, range(*repeats))
    finally:
        os.close(descriptor)
