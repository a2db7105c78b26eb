"""The incremental index of a shard's rollouts and failures.

Promise: looks only at bytes that no earlier look has read (design, decision 5); built anew on any doubt; one writer at
a time; killed at any instant, the next look goes on from a whole state. Keys are those at the top level of a row. The
first of several rows with one key wins, the others are counted.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from reward_profiling.errors import SweepError
from reward_profiling.files import atomic_path, exclusive_lock, storage_error
from reward_profiling.sweep.index_state import (
    FileState,
    IndexState,
    Segment,
    fingerprint,
    load_state,
    save_state,
    still_same,
)
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.numbers import MASK, numeric_record
from reward_profiling.sweep.row_lines import RowLine, read_lines, row_key

ROLLOUT_SCHEMA = {
    "task_index": pl.Int64(),
    "rollout_index": pl.Int64(),
    "offset": pl.Int64(),
    "length": pl.Int64(),
    "masked": pl.Boolean(),
    "simulated": pl.Boolean(),
    "numbers": pl.Binary(),
}
"""`offset` and `length` are those of the line in `rollouts.jsonl`; `numbers` is `numbers.numeric_record` of the row."""

FAILURE_SCHEMA = {
    "task_index": pl.Int64(),
    "rollout_index": pl.Int64(),
    "offset": pl.Int64(),
    "length": pl.Int64(),
    "failure_class": pl.String(),
    "terminal": pl.Boolean(),
    "simulated": pl.Boolean(),
}

_BATCH_LINES = 50_000
_KEY = ["task_index", "rollout_index"]
Schema = dict[str, pl.DataType]
Record = Callable[[RowLine, dict[str, Any]], tuple[Any, ...]]


@dataclass(frozen=True)
class RolloutIndex:
    """What has been collected in one shard.

    `rollouts` (`ROLLOUT_SCHEMA`, without `numbers` unless asked for) has one row per key; `failures`
    (`FAILURE_SCHEMA`) one per failed attempt. `state` says how far the files were read, `duplicates` counts rows left
    out because their key was there already, `last_row_at` is the time (Unix seconds) of the newest row.
    """

    rollouts: pl.DataFrame
    failures: pl.DataFrame
    state: IndexState
    duplicates: int
    last_row_at: float | None

    @property
    def broken(self) -> int:
        """Lines that hold no row."""
        return self.state.rollouts.broken + self.state.failures.broken

    @property
    def bytes_read(self) -> int:
        return self.state.rollouts.read_to + self.state.failures.read_to


@dataclass(frozen=True)
class _Kind:
    """One of Gym's two files and how its rows are recorded."""

    name: str
    path: Path
    schema: Schema
    record: Record
    unkeyed_is_broken: bool


def _rollout_record(line: RowLine, row: dict[str, Any]) -> tuple[Any, ...]:
    masked, simulated = bool(row.get(MASK)), row.get("_simulated") is True
    return line.offset, line.length, masked, simulated, numeric_record(row)


def _failure_record(line: RowLine, row: dict[str, Any]) -> tuple[Any, ...]:
    kind = str(row.get("_ng_failure_class") or "unknown")
    return line.offset, line.length, kind, bool(row.get("_ng_failure_terminal")), row.get("_simulated") is True


def _kinds(shard: ShardDir) -> tuple[_Kind, _Kind]:
    return (
        _Kind("rollouts", shard.rollouts, ROLLOUT_SCHEMA, _rollout_record, unkeyed_is_broken=True),
        # Gym ignores sidecar rows without a key (contract 3.3), so they are no damage.
        _Kind("failures", shard.failures, FAILURE_SCHEMA, _failure_record, unkeyed_is_broken=False),
    )


def read_index(shard: ShardDir, *, numbers: bool = False) -> RolloutIndex:
    """Bring the index up to date and read it; `numbers` includes the numeric records.

    Raises `SweepError` when rows that were indexed have vanished with their file, `StorageError` when a file cannot be
    read.
    """
    with exclusive_lock(shard.index / "lock"):
        state = load_state(shard.index / "state.json")
        rollouts, failures = _kinds(shard)
        try:
            state = _update(shard, state)
            collected = _load(shard, state.rollouts, rollouts, numbers=numbers)
            failed = _load(shard, state.failures, failures, numbers=False)
        except (PolarsError, FileNotFoundError):
            state = _update(shard, _forget(shard))
            collected = _load(shard, state.rollouts, rollouts, numbers=numbers)
            failed = _load(shard, state.failures, failures, numbers=False)
        unique = collected.unique(_KEY, keep="first", maintain_order=True)
        return RolloutIndex(
            rollouts=unique,
            failures=failed,
            state=state,
            duplicates=collected.height - unique.height,
            last_row_at=_last_row_at(shard, state),
        )


def _last_row_at(shard: ShardDir, state: IndexState) -> float | None:
    times = [
        path.stat().st_mtime
        for path, part in ((shard.rollouts, state.rollouts), (shard.failures, state.failures))
        if part.read_to
    ]
    return max(times, default=None)


def _forget(shard: ShardDir) -> IndexState:
    """Start over: the index is only a copy of what Gym's files hold."""
    state = IndexState()
    save_state(shard.index / "state.json", state)
    _drop_unnamed(shard, state)
    return state


def _drop_unnamed(shard: ShardDir, state: IndexState) -> None:
    named = {segment.name for part in (state.rollouts, state.failures) for segment in part.segments}
    for path in shard.index.glob("*.parquet"):
        if path.name not in named:
            path.unlink(missing_ok=True)


def _update(shard: ShardDir, state: IndexState) -> IndexState:
    for kind in _kinds(shard):
        part: FileState = getattr(state, kind.name)
        size = _size(kind.path, part)
        if not still_same(kind.path, size, part):
            part = FileState()
            state = _save(shard, state, kind, part)
        if size > part.read_to:
            for grown in _extend(shard, kind, part):
                state = _save(shard, state, kind, grown)
    return state


def _save(shard: ShardDir, state: IndexState, kind: _Kind, part: FileState) -> IndexState:
    state = state.model_copy(update={kind.name: part})
    save_state(shard.index / "state.json", state)
    _drop_unnamed(shard, state)
    return state


def _size(path: Path, part: FileState) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError as error:
        if part.read_to:
            raise SweepError(
                f"{part.read_to} bytes of collected rows have vanished",
                place=str(path),
                cure="restore the file before anything else is collected",
            ) from error
        return 0
    except OSError as error:
        raise storage_error(path, error) from error


def _extend(shard: ShardDir, kind: _Kind, part: FileState) -> Iterator[FileState]:
    """Index what is new in batches; yields the state after each."""
    lines = read_lines(kind.path, part.read_to)
    while batch := list(islice(lines, _BATCH_LINES)):
        part = _add_batch(shard, kind, part, batch)
        yield part


def _add_batch(shard: ShardDir, kind: _Kind, part: FileState, batch: list[RowLine]) -> FileState:
    records = []
    broken = part.broken
    for line in batch:
        key = row_key(line.row) if line.row is not None else None
        if line.row is not None and key is not None:
            records.append((*key, *kind.record(line, line.row)))
        elif line.row is None or kind.unkeyed_is_broken:
            broken += 1
    read_to = batch[-1].offset + batch[-1].length
    segments = part.segments
    if records:
        frame = pl.DataFrame(records, schema=kind.schema, orient="row")
        segments = _append_segment(shard, kind, segments, frame, read_to)
    return FileState(read_to=read_to, fingerprint=fingerprint(kind.path, read_to), broken=broken, segments=segments)


def _append_segment(
    shard: ShardDir, kind: _Kind, segments: tuple[Segment, ...], frame: pl.DataFrame, read_to: int
) -> tuple[Segment, ...]:
    """Add `frame`, first taking in the last segments that are no larger: their number stays logarithmic."""
    kept = list(segments)
    while kept and kept[-1].rows <= frame.height:
        frame = pl.concat([pl.read_parquet(shard.index / kept.pop().name), frame])
    # The name holds the place read to and a random part: a name is never written twice with different content.
    name = f"{kind.name}-{read_to:015d}-{os.urandom(4).hex()}.parquet"
    with atomic_path(shard.index / name) as temporary:
        frame.write_parquet(temporary)
    return (*kept, Segment(name=name, rows=frame.height))


def _load(shard: ShardDir, part: FileState, kind: _Kind, *, numbers: bool) -> pl.DataFrame:
    schema = {name: dtype for name, dtype in kind.schema.items() if numbers or name != "numbers"}
    if not part.segments:
        return pl.DataFrame(schema=schema)
    return pl.concat(pl.read_parquet(shard.index / segment.name, columns=list(schema)) for segment in part.segments)
