"""From the lines that NeMo Gym appended to the rows of the rollout index, whatever state their file is in.

Promise: reads whole lines only. A last line without a newline counts when it is a complete JSON object (Gym would keep
it, contract 3.7) and is left for later otherwise: a torn tail is work still owed, never a crash. Keys are those at the
top level of a row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from reward_profiling.files import storage_error
from reward_profiling.sweep.numbers import MASK, numeric_record
from reward_profiling.sweep.row_frames import RowFrames
from reward_profiling.sweep.row_lines import lines_from, parse_object, row_key
from reward_profiling.sweep.workers import Advance

Kind = Literal["rollouts", "failures"]

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

SCHEMAS = {"rollouts": ROLLOUT_SCHEMA, "failures": FAILURE_SCHEMA}


@dataclass(frozen=True)
class RangeRows:
    """The rows of a byte range, how many of its lines hold none, where the last line that is not blank ends, and
    whether a torn line lies behind it."""

    rows: pl.DataFrame
    broken: int
    read_to: int
    torn: bool


def read_range(advance: Advance, path: Path, kind: Kind, start: int, end: int) -> RangeRows:
    """Read the lines that begin in [start, end) of one of Gym's two files."""
    record = _RECORDS[kind]
    rows = RowFrames(SCHEMAS[kind])
    broken, read_to, torn = 0, start, False
    try:
        for offset, line in lines_from(path, start, end):
            row = parse_object(line)
            if row is None and line.isspace():
                continue
            if row is None and not line.endswith(b"\n"):
                torn = True
                break
            read_to = offset + len(line)
            key = None if row is None else row_key(row)
            if row is not None and key is not None:
                rows.add((*key, offset, len(line), *record(row)))
            # Gym ignores sidecar rows without a key (contract 3.3), so they are no damage.
            elif row is None or kind == "rollouts":
                broken += 1
    except OSError as error:
        raise storage_error(path, error) from error
    advance(end - start)
    return RangeRows(rows.frame(), broken, read_to, torn)


def _rollout_record(row: dict[str, Any]) -> tuple[Any, ...]:
    return bool(row.get(MASK)), row.get("_simulated") is True, numeric_record(row)


def _failure_record(row: dict[str, Any]) -> tuple[Any, ...]:
    kind = str(row.get("_ng_failure_class") or "unknown")
    return kind, bool(row.get("_ng_failure_terminal")), row.get("_simulated") is True


_RECORDS: dict[Kind, Callable[[dict[str, Any]], tuple[Any, ...]]] = {
    "rollouts": _rollout_record,
    "failures": _failure_record,
}
