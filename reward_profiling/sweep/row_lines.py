"""Reading the lines that NeMo Gym appended, whatever state their file is in.

Promise: yields whole lines only. A last line without a newline counts when it is a complete JSON object (Gym would keep
it, contract 3.7) and is left for later otherwise: a torn tail is work still owed, never a crash.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from reward_profiling.files import storage_error


@dataclass(frozen=True)
class RowLine:
    """One non-blank line: where it lies and what it holds (None when that is no JSON object)."""

    offset: int
    length: int
    row: dict[str, Any] | None


def parse_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object in `line`, or None."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def read_lines(path: Path, start: int) -> Iterator[RowLine]:
    """The whole, non-blank lines of `path` from byte `start`, which must be the start of a line."""
    try:
        with path.open("rb", buffering=1 << 20) as stream:
            stream.seek(start)
            offset = start
            for raw in stream:
                row = parse_object(raw)
                if row is None and not raw.endswith(b"\n"):
                    return
                if row is not None or not raw.isspace():
                    yield RowLine(offset, len(raw), row)
                offset += len(raw)
    except OSError as error:
        raise storage_error(path, error) from error


def row_key(row: dict[str, Any]) -> tuple[int, int] | None:
    """(`_ng_task_index`, `_ng_rollout_index`) at the top level of a row, or None when either is no integer."""
    task, rollout = row.get("_ng_task_index"), row.get("_ng_rollout_index")
    if type(task) is int and type(rollout) is int:
        return task, rollout
    return None
