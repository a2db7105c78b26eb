"""Index of the source datasets: where each row lies and what it is, in one parallel pass over byte ranges.

Promise: rows are the non-blank lines, in file order, without surrounding whitespace; a byte-order mark, CRLF line ends
and a missing final newline are no part of any row. Each row is read, hashed and checked once. The first bad row of the
earliest range is refused with `file:line`.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path

import polars as pl

from reward_profiling.errors import DatasetError
from reward_profiling.sweep.rows import RowProblem, RowRule, check_row

RANGE_BYTES = 64 << 20
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n\v\f"

ROW_SCHEMA = {
    "byte_offset": pl.Int64(),
    "byte_length": pl.Int64(),
    "content_hash": pl.String(),
    "verbatim": pl.Boolean(),
}


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
    """The identity of a row's bytes: BLAKE2b, 16 bytes, in hexadecimal."""
    return blake2b(line, digest_size=16).hexdigest()


def _lines_from(path: Path, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of each line that begins in [start, end)."""
    with path.open("rb", buffering=1 << 20) as stream:
        position = 0
        if start:
            # The line that crosses `start` belongs to the range in which it begins.
            stream.seek(start - 1)
            position = start - 1 + len(stream.readline())
        while position < end and (line := stream.readline()):
            yield position, line
            position += len(line)


def index_range(path: Path, start: int, end: int, rule: RowRule) -> _RangeResult:
    """Index the lines that begin in [start, end); stops at the first bad row."""
    offsets: list[int] = []
    lengths: list[int] = []
    hashes: list[str] = []
    verbatim: list[bool] = []
    problem: RowProblem | None = None
    lines = 0
    for position, raw in _lines_from(path, start, end):
        lines += 1
        first = len(_BOM) if position == 0 and raw.startswith(_BOM) else 0
        body = raw[first:].strip(_BLANK)
        if not body:
            continue
        verdict = check_row(body, rule)
        if isinstance(verdict, RowProblem):
            problem = verdict
            break
        offsets.append(position + raw.index(body, first))
        lengths.append(len(body))
        hashes.append(content_hash(body))
        verbatim.append(verdict)
    columns = {"byte_offset": offsets, "byte_length": lengths, "content_hash": hashes, "verbatim": verbatim}
    return _RangeResult(pl.DataFrame(columns, schema=ROW_SCHEMA), lines, problem)


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise DatasetError(
            f"the dataset cannot be read: {error.strerror}", place=str(path), cure="mend the entry's data path"
        ) from error


def index_source(path: Path, rule: RowRule, *, jobs: int = 1) -> SourceIndex:
    """Index one dataset with up to `jobs` processes.

    Raises `DatasetError` for a missing or unreadable file, a file without rows, a bad row, or a file that changes
    while it is read.
    """
    before = _stat(path)
    ranges = [
        (start, min(start + RANGE_BYTES, before.st_size)) for start in range(0, max(before.st_size, 1), RANGE_BYTES)
    ]
    try:
        results = _run_ranges(path, ranges, rule, jobs)
    except OSError as error:
        raise DatasetError(
            f"the dataset cannot be read: {error.strerror}", place=str(path), cure="mend the entry's data path"
        ) from error
    lines = 0
    for result in results:
        lines += result.lines
        if result.problem is not None:
            raise DatasetError(result.problem.problem, place=f"{path}:{lines}", cure=result.problem.cure)
    rows = pl.concat([result.rows for result in results])
    if rows.is_empty():
        raise DatasetError("the dataset has no rows", place=str(path), cure="mend the entry's data path")
    after = _stat(path)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise DatasetError(
            "the dataset changed while it was read", place=str(path), cure="run again when nobody writes"
        )
    return SourceIndex(path, rows, after.st_size, after.st_mtime_ns)


def _run_ranges(path: Path, ranges: list[tuple[int, int]], rule: RowRule, jobs: int) -> list[_RangeResult]:
    if jobs <= 1 or len(ranges) == 1:
        return [index_range(path, start, end, rule) for start, end in ranges]
    # Spawned, not forked: Polars holds threads, and a fork of a threaded process can hang.
    with ProcessPoolExecutor(min(jobs, len(ranges)), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(index_range, path, start, end, rule) for start, end in ranges]
        return [future.result() for future in futures]
