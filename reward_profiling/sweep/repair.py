"""Making Gym's files fit for a resume, before a collector starts (Gym contract 3.7 and 9.3).

Promise: afterwards both files exist, end in a newline and hold whole rows only; `rollouts.jsonl` holds each key once,
and no key that is not this shard's. Nothing collected is lost: whatever is taken out goes, durably and before it is
taken out, to `rejected.jsonl` beside the files, with the reason. The index says what is wrong, so sound files are not
read again. Call this only where no collector is live on the shard. Running it again changes nothing.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from reward_profiling.files import append_json_line, atomic_file, storage_error
from reward_profiling.sweep.index_state import FileState
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.rollout_index import read_index
from reward_profiling.sweep.row_lines import parse_object, row_key

Key = tuple[int, int]
Reason = Literal["torn", "broken", "duplicate", "foreign"]


@dataclass(frozen=True)
class RepairReport:
    """How many lines were taken out, and why; all zero when the files were sound."""

    torn: int = 0
    broken: int = 0
    duplicate: int = 0
    foreign: int = 0

    @property
    def rejected(self) -> int:
        return self.torn + self.broken + self.duplicate + self.foreign


def repair(shard: ShardDir, keys: pl.DataFrame) -> RepairReport:
    """Repair both files of `shard`, whose keys (`task_index`, `rollout_index`) are given."""
    index = read_index(shard)
    foreign = index.rollouts.join(keys, on=["task_index", "rollout_index"], how="anti").height
    own = frozenset(keys.select("task_index", "rollout_index").iter_rows())
    taken: Counter[str] = Counter()
    for path, part in ((shard.rollouts, index.state.rollouts), (shard.failures, index.state.failures)):
        try:
            with _as_old_as_it_was(path):
                if _close_tail(shard, path, part):
                    taken["torn"] += 1
                if path == shard.rollouts and (foreign or index.duplicates or part.broken):
                    taken += _rewrite(shard, path, own)
                elif part.broken:
                    taken += _rewrite(shard, path, None)
        except OSError as error:
            raise storage_error(path, error) from error
    return RepairReport(**taken)


@contextlib.contextmanager
def _as_old_as_it_was(path: Path) -> Iterator[None]:
    """Make the file when it is missing; else let it stay as old as its newest row, which tells when that came."""
    if not path.exists():
        path.touch()
    before = path.stat()
    yield
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _reject(shard: ShardDir, path: Path, reason: Reason, line: bytes) -> None:
    text = line.decode("utf-8", "backslashreplace")
    append_json_line(shard.rejected, {"file": path.name, "reason": reason, "line": text})


def _close_tail(shard: ShardDir, path: Path, part: FileState) -> bool:
    """Cut what lies behind the last whole row, and end the file in a newline; whether anything but space was cut."""
    with path.open("r+b") as stream:
        stream.seek(part.read_to)
        tail = stream.read()
        if not tail.isspace() and tail:
            _reject(shard, path, "torn", tail)
        if tail:
            stream.truncate(part.read_to)
        if part.read_to:
            stream.seek(part.read_to - 1)
            if stream.read(1) != b"\n":
                stream.write(b"\n")
        stream.flush()
        os.fsync(stream.fileno())
    return bool(tail) and not tail.isspace()


def _reason(raw: bytes, own: frozenset[Key] | None, seen: set[Key]) -> Reason | None:
    """Why a line cannot stay; `own` None looks only for broken lines."""
    row = parse_object(raw)
    if row is None:
        return "broken"
    if own is None:
        return None
    key = row_key(row)
    if key is None or key not in own:
        return "foreign"
    if key in seen:
        return "duplicate"
    seen.add(key)
    return None


def _rewrite(shard: ShardDir, path: Path, own: frozenset[Key] | None) -> Counter[str]:
    """Write the file again without the lines that cannot stay; they are in `rejected.jsonl` before it changes."""
    taken: Counter[str] = Counter()
    seen: set[Key] = set()
    with path.open("rb", buffering=1 << 20) as source, atomic_file(path) as target:
        for raw in source:
            if raw.isspace():
                continue
            reason = _reason(raw, own, seen)
            if reason is None:
                target.write(raw)
            else:
                taken[reason] += 1
                _reject(shard, path, reason, raw)
    return taken
