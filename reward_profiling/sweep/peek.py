"""What the rollout index says on disk, without bringing it up to date.

Promise: nothing is written, not even a lock. An index that the next look would build anew says nothing.
"""

from dataclasses import dataclass

import polars as pl
from polars.exceptions import PolarsError

from reward_profiling.sweep.index_state import FileState, IndexState, load_state, still_same
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.scan import ROW_SCHEMA, digest

_PLACE = ("task_index", "rollout_index", "offset", "length")


@dataclass(frozen=True)
class Peek:
    """All rows of the index in the order of the files, duplicates included, by columns of `scan.ROW_SCHEMA`."""

    rollouts: pl.DataFrame
    failures: pl.DataFrame
    state: IndexState


def peek(shard: ShardDir) -> Peek | None:
    """The index of `shard` as it is; None when there is none that counts."""
    state = load_state(shard.index / "state.json")
    if state == IndexState():
        return None
    try:
        for path, part in ((shard.rollouts, state.rollouts), (shard.failures, state.failures)):
            if part.read_to and not still_same(path, path.stat().st_size, part):
                return None
        rollouts = _rows(shard, state.rollouts, "masked", "numbers")
        failures = _rows(shard, state.failures, "failure_class", "terminal")
    except (FileNotFoundError, PolarsError):
        return None
    return Peek(rollouts, failures, state)


def _rows(shard: ShardDir, part: FileState, *columns: str) -> pl.DataFrame:
    frames = [pl.read_parquet(shard.index / segment.name, columns=[*_PLACE, *columns]) for segment in part.segments]
    if frames and "numbers" in columns:
        frames = [frame.with_columns(_digests(frame["numbers"])) for frame in frames]
    return pl.concat([pl.DataFrame(schema={name: ROW_SCHEMA[name] for name in (*_PLACE, *columns)}), *frames])


def _digests(records: pl.Series) -> pl.Series:
    return pl.Series("numbers", [digest(record) for record in records], dtype=pl.UInt64())
