"""Copying rows by where they lie: bytes, never parsed and encoded again.

Promise: what is copied is exactly the bytes of the rows, each once, read in one pass from front to back with bounded
memory. A last row that lacks its newline gets one, so that rows never run into each other.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import polars as pl

from reward_profiling.errors import SweepError
from reward_profiling.files import storage_error
from reward_profiling.sweep.spools import Spools

_CHUNK_BYTES = 4 << 20
_READ_AHEAD_BYTES = 32 << 20
_SLICE_ROWS = 100_000


def runs(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` (`offset`, `length`, `target`) by offset, with neighbours of one target taken together."""
    ordered = rows.select("offset", "length", "target").sort("offset")
    end = pl.col("offset") + pl.col("length")
    starts = (pl.col("target") != pl.col("target").shift()) | (pl.col("offset") != end.shift())
    return (
        ordered.with_columns(run=starts.fill_null(True).cum_sum())
        .group_by("run", maintain_order=True)
        .agg(pl.col("offset", "target").first(), pl.col("length").sum())
        .select("offset", "length", "target")
    )


def copy_rows(stream: BinaryIO, rows: pl.DataFrame, spools: Spools) -> None:
    """Copy the rows that `rows` names (`offset`, `length`, `target`) from an open file to the spools, in file order."""
    try:
        for batch in runs(rows).iter_slices(_SLICE_ROWS):
            for offset, length, target in batch.iter_rows():
                stream.seek(offset)
                _copy(stream, length, target, spools)
    except OSError as error:
        raise storage_error(Path(stream.name), error) from error


def _copy(stream: BinaryIO, length: int, target: int, spools: Spools) -> None:
    last = b"\n"
    while length:
        last = stream.read(min(length, _CHUNK_BYTES))
        if not last:
            raise SweepError("rows have vanished while they were copied", place=stream.name, cure="run again")
        spools.write(target, last)
        length -= len(last)
    if not last.endswith(b"\n"):
        spools.write(target, b"\n")


def uncovered(rows: pl.DataFrame, size: int) -> list[tuple[int, int]]:
    """The gaps (`offset`, `length`) that `rows` leave in a file of `size` bytes."""
    ordered = rows.select("offset", end=pl.col("offset") + pl.col("length")).sort("offset")
    starts, ends = [0, *ordered["end"].to_list()], [*ordered["offset"].to_list(), size]
    return [(start, end - start) for start, end in zip(starts, ends, strict=True) if end > start]


class _Lines:
    """The lines of one file, read ahead a little at a time without keeping it open."""

    def __init__(self, path: Path, ahead: int) -> None:
        self._path, self._ahead = path, ahead
        self._offset = 0
        self._lines: Iterator[bytes] = iter(())

    def next(self) -> bytes:
        """The next line, empty at the end."""
        line = next(self._lines, None)
        if line is not None:
            return line
        try:
            with self._path.open("rb", buffering=1 << 20) as stream:
                stream.seek(self._offset)
                lines = stream.readlines(self._ahead)
                self._offset = stream.tell()
        except OSError as error:
            raise storage_error(self._path, error) from error
        self._lines = iter(lines)
        return next(self._lines, b"")


def deal_lines(work_lists: Sequence[Path], order: pl.DataFrame, spools: Spools) -> None:
    """Copy work-list lines to the spools in the order of `order`, which has one row per key of the sweep:
    `task_index`, `rollout_index`, `source` (number of the work list that has it) and `target` (number of the spool).

    Each work list must be in that order too. Raises `SweepError` for a line that is not the expected key's.
    """
    lines = [_Lines(path, _READ_AHEAD_BYTES // len(work_lists)) for path in work_lists]
    for batch in order.select("task_index", "rollout_index", "source", "target").iter_slices(_SLICE_ROWS):
        for task, rollout, source, target in batch.iter_rows():
            line = lines[source].next()
            if not line.endswith(b'"_ng_task_index":%d,"_ng_rollout_index":%d}\n' % (task, rollout)):
                raise SweepError(
                    f"the work list does not hold rollout {rollout} of task {task} where it should",
                    place=str(work_lists[source]),
                    cure="remove this work list and materialize this sweep again, which keeps what was collected",
                )
            spools.write(target, line)
