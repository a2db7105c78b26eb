"""Lines of JSON Lines files, by byte ranges, and what a line holds.

Promise: cut a file into ranges anywhere, and each of its lines belongs to exactly one: the one in which it begins.
Lines may be of any length.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

_BUFFER_BYTES = 1 << 20
_NO_INDEX = 1 << 63


def cut(start: int, end: int, size: int) -> list[tuple[int, int]]:
    """[start, end) as ranges of `size` bytes; one empty range when it is empty."""
    return [(first, min(first + size, end)) for first in range(start, max(end, start + 1), size)]


def lines_from(path: Path, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of each line that begins in [start, end); a last line may lack its newline."""
    with path.open("rb", buffering=_BUFFER_BYTES) as stream:
        position = start
        if start:
            # The line that crosses `start` belongs to the range in which it begins.
            position = start - 1
            stream.seek(position)
            piece = b""
            while not piece.endswith(b"\n"):
                piece = stream.readline(_BUFFER_BYTES)
                position += len(piece)
                if not piece or position >= end:
                    return
        while position < end and (line := stream.readline()):
            yield position, line
            position += len(line)


def parse_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object in `line`, or None."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def row_key(row: dict[str, Any]) -> tuple[int, int] | None:
    """(`_ng_task_index`, `_ng_rollout_index`) at the top level of a row, or None when either is no integer that could
    be one."""
    task, rollout = row.get("_ng_task_index"), row.get("_ng_rollout_index")
    if type(task) is int and type(rollout) is int and task < _NO_INDEX and rollout < _NO_INDEX:
        return task, rollout
    return None
