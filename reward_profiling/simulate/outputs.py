"""The files of one `--output`, and what they say is done (Gym contract 3.1, 3.3, 3.7).

Promise: names are derived as Gym derives them; a torn last line is dropped and a missing newline added before anything
is read; a broken line elsewhere ends the run with nothing changed.
"""

import logging
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from reward_profiling.errors import RewardProfilingError

Key = tuple[int, int]
"""(`_ng_task_index`, `_ng_rollout_index`): what identifies a rollout."""

DEFAULT_ATTEMPTS = 3
_SPECIAL_TERMINAL = frozenset({"timeout_exceeded", "reference_missing", "eval_missing", "transport_ineligible"})
_BLOCK = 1 << 16
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outputs:
    """The files beside `rollouts` (contract 3.1)."""

    rollouts: Path

    @property
    def failures(self) -> Path:
        return self._beside("failures.jsonl")

    @property
    def work_list(self) -> Path:
        return self._beside("materialized_inputs.jsonl")

    @property
    def aggregate(self) -> Path:
        return self._beside("aggregate_metrics.json")

    @property
    def resumable(self) -> bool:
        """Whether `--resume` takes the fast path (contract 3.2)."""
        return self.work_list.exists() and self.rollouts.exists()

    def _beside(self, ending: str) -> Path:
        return self.rollouts.with_name(f"{self.rollouts.stem}_{ending}")


@dataclass(frozen=True)
class Done:
    """What an earlier run left behind (contract 3.3)."""

    succeeded: Collection[Key] = ()
    terminal: Collection[Key] = ()
    failures: Mapping[Key, int] = field(default_factory=dict)
    attempts: int = DEFAULT_ATTEMPTS

    def outstanding(self, key: Key) -> bool:
        """Whether Gym would dispatch this key now."""
        return not (key in self.succeeded or key in self.terminal or self.failures.get(key, 0) >= self.attempts)


def read_done(outputs: Outputs, environ: Mapping[str, str], *, retry_terminal: bool) -> Done:
    """Repair the tails of both files, then read what is done from them."""
    for path in (outputs.rollouts, outputs.failures):
        repair_tail(path)
    succeeded = {key for key, _ in _keyed_rows(outputs.rollouts)}
    terminal: set[Key] = set()
    failures: Counter[Key] = Counter()
    for key, row in _keyed_rows(outputs.failures):
        failures[key] += 1
        if _is_terminal(row, retry_terminal=retry_terminal):
            terminal.add(key)
    return Done(succeeded, terminal, failures, _attempts(environ))


def json_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSONL file; blank lines are passed over, a broken one raises `RewardProfilingError`."""
    return (row for _, row in json_lines(path))


def json_lines(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """`json_rows`, each after the line that it was read from."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if line.isspace():
                continue
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise RewardProfilingError(f"broken JSON: {error}", place=f"{path}:{number}") from error
            if not isinstance(row, dict):
                raise RewardProfilingError("not a JSON object", place=f"{path}:{number}")
            yield line, row


def repair_tail(path: Path) -> None:
    """Make the file end in a complete line: cut what is torn, close what only lacks its newline."""
    if not path.exists():
        return
    with path.open("r+b") as stream:
        end = stream.seek(0, os.SEEK_END)
        start, tail = _last_line(stream.fileno(), end)
        if not tail:
            return
        try:
            orjson.loads(tail)
        except orjson.JSONDecodeError:
            stream.truncate(start)
            _log.warning("dropped a torn last line (%d bytes) from %s", len(tail), path)
        else:
            stream.write(b"\n")


def _last_line(descriptor: int, end: int) -> tuple[int, bytes]:
    """Where the bytes after the last newline start, and these bytes."""
    tail = b""
    start = end
    while start > 0:
        length = min(_BLOCK, start)
        block = os.pread(descriptor, length, start - length)
        newline = block.rfind(b"\n")
        tail = block[newline + 1 :] + tail
        if newline >= 0:
            return start - length + newline + 1, tail
        start -= length
    return 0, tail


def _keyed_rows(path: Path) -> Iterator[tuple[Key, dict[str, Any]]]:
    if not path.exists():
        return
    for row in json_rows(path):
        if "_ng_task_index" in row and "_ng_rollout_index" in row:
            yield (row["_ng_task_index"], row["_ng_rollout_index"]), row


def _is_terminal(row: Mapping[str, Any], *, retry_terminal: bool) -> bool:
    failure = row.get("_ng_failure_class")
    if retry_terminal and failure in _SPECIAL_TERMINAL:
        return False
    return bool(row.get("_ng_failure_terminal")) or (retry_terminal and failure == "skipped")


def _attempts(environ: Mapping[str, str]) -> int:
    text = environ.get("NEMO_GYM_MAX_ROLLOUT_ATTEMPTS")
    if text is None:
        return DEFAULT_ATTEMPTS
    try:
        wanted = int(text)
    except ValueError:
        wanted = 0
    if wanted < 1:
        _log.warning("NEMO_GYM_MAX_ROLLOUT_ATTEMPTS=%r is no positive number; using %d", text, DEFAULT_ATTEMPTS)
        return DEFAULT_ATTEMPTS
    return wanted
