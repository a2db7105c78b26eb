"""Index of the source datasets: where each row lies and what it is, in one parallel pass over byte ranges.

Promise: rows are the non-blank lines, in file order, without surrounding whitespace; a byte-order mark, CRLF line ends
and a missing final newline are no part of any row. Each row is read, hashed and checked once; memory holds a row, a
batch of rows and the index (some 70 bytes per row). The first bad row of the earliest range is refused with
`file:line`.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

import polars as pl

from reward_profiling.errors import DatasetError
from reward_profiling.sweep.progress import QUIET, Progress
from reward_profiling.sweep.row_frames import RowFrames
from reward_profiling.sweep.row_lines import cut, lines_from
from reward_profiling.sweep.rows import RowProblem, RowRule, check_row
from reward_profiling.sweep.workers import Advance, in_order

RANGE_BYTES = 64 << 20
_ALONE_BYTES = 256 << 20
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n\v\f"

ROW_SCHEMA = {
    "byte_offset": pl.Int64(),
    "byte_length": pl.Int64(),
    "content_hash": pl.String(),
    "verbatim": pl.Boolean(),
}


@dataclass(frozen=True)
class Source:
    """One dataset and what its rows must hold."""

    path: Path
    rule: RowRule


@dataclass(frozen=True)
class SourceIndex:
    """All rows of one dataset (`ROW_SCHEMA`) and the identity of the file they were read from."""

    path: Path
    rows: pl.DataFrame
    size: int
    modified_ns: int


@dataclass(frozen=True)
class _RangeResult:
    rows: pl.DataFrame
    lines: int
    problem: RowProblem | None


def content_hash(line: bytes) -> str:
    """The identity of a row's bytes: the first 16 bytes of their SHA-256, in hexadecimal.

    Every byte of a sweep's datasets passes through here twice, and processors compute this hash by themselves.
    """
    return sha256(line, usedforsecurity=False).hexdigest()[:32]


def index_sources(sources: Sequence[Source], *, jobs: int = 1, progress: Progress = QUIET) -> Iterator[SourceIndex]:
    """Index datasets with up to `jobs` processes; yields in the order given.

    Raises `DatasetError` for a missing or unreadable file, a file without rows, a bad row, or a file that changes
    while it is read.
    """
    stats = [_stat(source.path) for source in sources]
    ranges = [cut(0, stat.st_size, RANGE_BYTES) for stat in stats]
    parts = [
        (source.path, start, end, source.rule)
        for source, own in zip(sources, ranges, strict=True)
        for start, end in own
    ]
    total = sum(stat.st_size for stat in stats)
    progress.begin("reading datasets", total)
    # Starting processes takes longer than reading a little.
    processes = min(jobs, len(parts)) if total > _ALONE_BYTES else 1
    with closing(in_order(index_range, parts, processes, progress.at)) as results:
        for source, before, own in zip(sources, stats, ranges, strict=True):
            yield _join(source.path, before, islice(results, len(own)))


def index_range(advance: Advance, path: Path, start: int, end: int, rule: RowRule) -> _RangeResult:
    """Index the lines that begin in [start, end); stops at the first bad row."""
    rows = RowFrames(ROW_SCHEMA)
    problem: RowProblem | None = None
    lines = 0
    for position, raw in lines_from(path, start, end):
        lines += 1
        line = raw.removeprefix(_BOM) if position == 0 else raw
        behind = line.lstrip(_BLANK)
        body = behind.rstrip(_BLANK)
        if body:
            verdict = check_row(body, rule)
            if isinstance(verdict, RowProblem):
                problem = verdict
                break
            rows.add((position + len(raw) - len(behind), len(body), content_hash(body), verdict))
    advance(end - start)
    return _RangeResult(rows.frame(), lines, problem)


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> DatasetError:
    problem = f"the dataset cannot be read: {error.strerror}"
    return DatasetError(problem, place=str(path), cure="mend the entry's data path")


def _join(path: Path, before: os.stat_result, results: Iterator[_RangeResult]) -> SourceIndex:
    """The index of one dataset from those of its ranges."""
    lines = 0
    frames = []
    try:
        for result in results:
            lines += result.lines
            if result.problem is not None:
                raise DatasetError(result.problem.problem, place=f"{path}:{lines}", cure=result.problem.cure)
            frames.append(result.rows)
    except OSError as error:
        raise _unreadable(path, error) from error
    rows = pl.concat(frames)
    if rows.is_empty():
        raise DatasetError("the dataset has no rows", place=str(path), cure="mend the entry's data path")
    after = _stat(path)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise DatasetError(
            "the dataset changed while it was read", place=str(path), cure="run again when nobody writes"
        )
    return SourceIndex(path, rows, after.st_size, after.st_mtime_ns)
