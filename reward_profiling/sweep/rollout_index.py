"""The incremental index of a shard's rollouts and failures.

Promise: looks only at bytes that no earlier look has read (design, decision 5); built anew on any doubt; one writer at
a time; killed at any instant, the next look goes on from a whole state. Keys are those at the top level of a row. The
first of several rows with one key wins, the others are counted.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import polars as pl
from polars.exceptions import PolarsError

from reward_profiling.errors import SweepError
from reward_profiling.files import atomic_path, exclusive_lock, remove, storage_error
from reward_profiling.sweep.index_rows import SCHEMAS, Kind, RangeRows, read_range
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
from reward_profiling.sweep.row_lines import cut
from reward_profiling.sweep.workers import in_order

_RANGE_BYTES = 64 << 20
_MANY_BYTES = 2 << 30
"""New bytes from which on several processes read them."""
_SEGMENT_ROWS = 200_000
_SEGMENT_BYTES = 1 << 30
"""A long look is kept, for whoever comes after a kill, whenever it has read this much."""
_KEY = ["task_index", "rollout_index"]
Result = TypeVar("Result")
_KINDS: tuple[Kind, Kind] = ("rollouts", "failures")


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


def read_index(shard: ShardDir, *, numbers: bool = False) -> RolloutIndex:
    """Bring the index up to date and read it; `numbers` includes the numeric records.

    Raises `SweepError` when rows that were indexed have vanished with their file, `StorageError` when a file cannot be
    read.
    """
    return _locked(shard, lambda state: _read(shard, _update(shard, state), numbers=numbers))


def update_index(shard: ShardDir) -> IndexState:
    """Bring the index up to date without reading it; raises what `read_index` raises."""
    return _locked(shard, lambda state: _update(shard, state))


def _locked(shard: ShardDir, work: Callable[[IndexState], Result]) -> Result:
    """Do `work` from the state on disk, or from nothing when what the state names is lost or damaged."""
    if not shard.path.is_dir():
        # Nothing was ever written here, or the shard is of a layout that is gone: whoever looks makes no shard.
        return work(IndexState())
    with exclusive_lock(shard.index / "lock"):
        try:
            return work(load_state(shard.index / "state.json"))
        except (PolarsError, FileNotFoundError):
            return work(_forget(shard))


def last_row_at(shard: ShardDir, state: IndexState) -> float | None:
    """The time (Unix seconds) of the newest row, None before the first."""
    files = [_file(shard, kind) for kind in _KINDS if _part(state, kind).read_to]
    return max((path.stat().st_mtime for path in files), default=None)


def _file(shard: ShardDir, kind: Kind) -> Path:
    return shard.rollouts if kind == "rollouts" else shard.failures


def _part(state: IndexState, kind: Kind) -> FileState:
    return state.rollouts if kind == "rollouts" else state.failures


def _read(shard: ShardDir, state: IndexState, *, numbers: bool) -> RolloutIndex:
    collected = _load(shard, state, "rollouts", numbers=numbers)
    unique = collected.unique(_KEY, keep="first", maintain_order=True)
    return RolloutIndex(
        rollouts=unique,
        failures=_load(shard, state, "failures", numbers=False),
        state=state,
        duplicates=collected.height - unique.height,
        last_row_at=last_row_at(shard, state),
    )


def _load(shard: ShardDir, state: IndexState, kind: Kind, *, numbers: bool) -> pl.DataFrame:
    schema = {name: dtype for name, dtype in SCHEMAS[kind].items() if numbers or name != "numbers"}
    segments = _part(state, kind).segments
    frames = [pl.read_parquet(shard.index / segment.name, columns=list(schema)) for segment in segments]
    return pl.concat([pl.DataFrame(schema=schema), *frames])


def _forget(shard: ShardDir) -> IndexState:
    """Start over: the index is only a copy of what Gym's files hold."""
    state = IndexState()
    save_state(shard.index / "state.json", state)
    _drop_unnamed(shard, state)
    return state


def _drop_unnamed(shard: ShardDir, state: IndexState) -> None:
    """Remove segments that have been taken in by others, and what a killed writer left."""
    named = {segment.name for part in (state.rollouts, state.failures) for segment in part.segments}
    for path in shard.index.glob("*.parquet"):
        if path.name not in named:
            remove(path)
    for pattern in (".*.parquet.*.tmp", ".state.json.*.tmp"):
        for path in shard.index.glob(pattern):
            remove(path)


def _update(shard: ShardDir, state: IndexState) -> IndexState:
    for kind in _KINDS:
        path, part = _file(shard, kind), _part(state, kind)
        size = _size(path, part)
        if not still_same(path, size, part):
            part = FileState()
            state = _save(shard, state, kind, part)
        if size > part.read_to:
            for grown in _extend(shard, kind, part, size):
                if grown != part:
                    state = _save(shard, state, kind, grown)
    return state


def _save(shard: ShardDir, state: IndexState, kind: Kind, part: FileState) -> IndexState:
    state = state.model_copy(update={kind: part})
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


def _extend(shard: ShardDir, kind: Kind, part: FileState, size: int) -> Iterator[FileState]:
    """Index the bytes up to `size`; yields the state whenever as much as a segment takes has been read."""
    path = _file(shard, kind)
    ranges = [(path, kind, start, end) for start, end in cut(part.read_to, size, _RANGE_BYTES)]
    jobs = os.cpu_count() or 1 if size - part.read_to > _MANY_BYTES else 1
    gathered: list[RangeRows] = []
    with closing(in_order(read_range, ranges, jobs)) as results:
        for found in results:
            gathered.append(found)
            rows = sum(each.rows.height for each in gathered)
            if found.torn or rows >= _SEGMENT_ROWS or found.read_to - part.read_to >= _SEGMENT_BYTES:
                part = _add(shard, kind, part, gathered)
                yield part
                gathered = []
            if found.torn:
                # What lies behind it by now was written later, and its own line may be whole by then.
                return
    if gathered:
        yield _add(shard, kind, part, gathered)


def _add(shard: ShardDir, kind: Kind, part: FileState, gathered: list[RangeRows]) -> FileState:
    read_to = max(part.read_to, *(each.read_to for each in gathered))
    frame = pl.concat(each.rows for each in gathered)
    segments = part.segments
    if frame.height:
        segments = _append_segment(shard, kind, segments, frame, read_to)
    return FileState(
        read_to=read_to,
        fingerprint=fingerprint(_file(shard, kind), read_to),
        broken=part.broken + sum(each.broken for each in gathered),
        segments=segments,
    )


def _append_segment(
    shard: ShardDir, kind: Kind, segments: tuple[Segment, ...], frame: pl.DataFrame, read_to: int
) -> tuple[Segment, ...]:
    """Add `frame`, first taking in the last segments that are no larger: their number stays logarithmic."""
    kept = list(segments)
    while kept and kept[-1].rows <= frame.height:
        frame = pl.concat([pl.read_parquet(shard.index / kept.pop().name), frame])
    # The name holds the place read to and a random part: a name is never written twice with different content.
    name = f"{kind}-{read_to:015d}-{os.urandom(4).hex()}.parquet"
    with atomic_path(shard.index / name) as temporary:
        frame.write_parquet(temporary)
    return (*kept, Segment(name=name, rows=frame.height))
