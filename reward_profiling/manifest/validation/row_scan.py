"""The rows of one dataset, looked at line by line.

Promise: needs nothing but the file (so that a process of its own can run it); keeps the first few problems of each
kind and counts the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

RESERVED_PREFIX = "_ng_"
_KEPT = 3


@dataclass
class RowScan:
    """What was found: rows read, problems and doubts as (line number from 1, text), and how many there were in all."""

    rows: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)
    doubts: list[tuple[int, str]] = field(default_factory=list)
    problem_count: int = 0
    seen: set[str] = field(default_factory=set)

    def refuse(self, line: int, text: str) -> None:
        self.problem_count += 1
        if len(self.problems) < _KEPT:
            self.problems.append((line, text))

    def doubt(self, line: int, text: str) -> None:
        if text not in self.seen:
            self.seen.add(text)
            self.doubts.append((line, text))


def scan(path: Path, agent: str, override: str | None, most: int) -> RowScan:
    """Look at the first `most` rows of `path` (0: all); rows are the lines that are not blank. Raises OSError."""
    result = RowScan()
    for number, line in _rows(path):
        if most and result.rows >= most:
            break
        result.rows += 1
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            result.refuse(number, f"is not JSON ({error})")
            continue
        if isinstance(row, dict):
            _look(row, number, agent, override, result)
        else:
            result.refuse(number, "is not a JSON object")
    return result


def _rows(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb", buffering=1 << 20) as stream:
        for number, line in enumerate(stream, 1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not text.isspace() and text:
                yield number, text


def _look(row: dict[str, Any], number: int, agent: str, override: str | None, result: RowScan) -> None:
    reference = row.get("agent_ref")
    found = reference.get("name") if isinstance(reference, dict) else None
    if found != agent and override is None:
        said = "carries no agent_ref.name" if found is None else f"carries the agent_ref {found!r}, not {agent!r}"
        result.refuse(number, said)
    elif found not in (agent, override, None):
        result.doubt(
            number, f"carries the agent_ref {found!r}, which {override!r} replaces though {agent!r} is declared"
        )
    if not isinstance(row.get("responses_create_params"), dict):
        result.refuse(number, "carries no responses_create_params object")
    for key in row:
        if key.startswith(RESERVED_PREFIX):
            result.doubt(number, f"carries the key {key}, which NeMo Gym and the sweep use for themselves")
