"""A shard's two files, open, and the index that belongs to them.

Promise: the offsets of the index are those of the open files, whatever a repair, which replaces files, does meanwhile;
rows that are appended later are not part of it.
"""

import contextlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from reward_profiling.errors import SweepError
from reward_profiling.files import storage_error
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.rollout_index import RolloutIndex, read_index

_BUFFER_BYTES = 4 << 20
_TRIES = 3


@dataclass(frozen=True)
class OpenShard:
    """What was collected in one shard; a file that is not there yet is an empty one."""

    index: RolloutIndex
    rollouts: BinaryIO
    failures: BinaryIO


@contextlib.contextmanager
def open_shard(shard: ShardDir) -> Iterator[OpenShard]:
    """Open the files of `shard` for as long as the block lasts."""
    for _ in range(_TRIES):
        with contextlib.ExitStack() as stack:
            rollouts, failures = (stack.enter_context(_open(path)) for path in (shard.rollouts, shard.failures))
            index = read_index(shard)
            if _still(shard.rollouts, rollouts) and _still(shard.failures, failures):
                yield OpenShard(index, rollouts, failures)
                return
    raise SweepError("its files are being replaced all the time", place=str(shard.path), cure="run again")


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb", buffering=_BUFFER_BYTES)
    except FileNotFoundError:
        return io.BytesIO()
    except OSError as error:
        raise storage_error(path, error) from error


def _still(path: Path, stream: BinaryIO) -> bool:
    """Whether `stream` is what lies at `path` now."""
    there = path.exists()
    if isinstance(stream, io.BytesIO):
        return not there
    return there and os.path.samestat(path.stat(), os.fstat(stream.fileno()))
