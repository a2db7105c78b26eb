"""Reading a work list and a rollout file as NeMo Gym's profile reads them (Gym contract 6.1).

Promise: every line is one JSON object with an integer key, or the file is refused with its line; nothing of a row is
kept but what a profile needs, so that memory goes with the number of rows and not with their size.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from reward_profiling.errors import RolloutsError
from reward_profiling.files import storage_error
from reward_profiling.sweep.numbers import numeric_record, usage_of

KEY = ["task_index", "rollout_index"]

WORK_SCHEMA = {
    "task_index": pl.Int64(),
    "rollout_index": pl.Int64(),
    "line": pl.Int64(),
    "offset": pl.Int64(),
    "run_key": pl.String(),
    "agent": pl.String(),
}
"""`line` counts from 1, `offset` in bytes; `run_key` is the environment server, else the agent (Gym contract 6.3)."""

ROLLOUT_SCHEMA = {
    "task_index": pl.Int64(),
    "rollout_index": pl.Int64(),
    "line": pl.Int64(),
    "numbers": pl.Binary(),
}
"""`numbers` is `numeric_record` of the row."""

_BATCH_LINES = 10_000
_TASK, _ROLLOUT = "_ng_task_index", "_ng_rollout_index"
_INT64 = range(-(2**63), 2**63)

Row = dict[str, Any]


def read_work_list(path: Path) -> pl.DataFrame:
    """The rows of a work list (`WORK_SCHEMA`) in file order; `RolloutsError` names the first bad line."""
    return _read(path, WORK_SCHEMA, _work_fields)


def read_rollouts(path: Path) -> pl.DataFrame:
    """The rows of a rollout file (`ROLLOUT_SCHEMA`) in file order; `RolloutsError` names the first bad line."""
    return _read(path, ROLLOUT_SCHEMA, _rollout_fields)


def read_samples(path: Path, offsets: Iterator[int]) -> Iterator[Row]:
    """The work-list rows that start at `offsets`, without the two index keys (Gym contract 6.5, `sample`)."""
    with path.open("rb") as stream:
        for offset in offsets:
            stream.seek(offset)
            row = orjson.loads(stream.readline())
            del row[_TASK], row[_ROLLOUT]
            yield row


def _read(path: Path, schema: dict[str, pl.DataType], fields: Callable[[Row, int], tuple[Any, ...]]) -> pl.DataFrame:
    rows = _rows(path, fields)
    frames = [pl.DataFrame(schema=schema)]
    while batch := list(islice(rows, _BATCH_LINES)):
        columns = zip(schema, zip(*batch, strict=True), strict=True)
        frames.append(pl.DataFrame({name: pl.Series(values, dtype=schema[name]) for name, values in columns}))
    return pl.concat(frames)


def _rows(path: Path, fields: Callable[[Row, int], tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    offset = line_number = 0
    try:
        with path.open("rb", buffering=1 << 20) as stream:
            for line_number, line in enumerate(stream, start=1):
                row = _parse(line)
                yield (*_key(row), line_number, *fields(row, offset))
                offset += len(line)
    except FileNotFoundError as error:
        raise RolloutsError("there is no such file", place=str(path), cure="check the path") from error
    except OSError as error:
        raise storage_error(path, error) from error
    except _BadRowError as error:
        raise RolloutsError(error.problem, place=f"{path}:{line_number}", cure=error.cure) from error


class _BadRowError(Exception):
    """What is wrong with the row at hand; the reader adds the place."""

    def __init__(self, problem: str, cure: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.cure = cure


def _parse(line: bytes) -> Row:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        if not line.strip():
            raise _BadRowError("the line is blank", "remove it") from error
        raise _BadRowError(f"the line is no valid JSON ({error})", "repair or remove it") from error
    if not isinstance(row, dict):
        raise _BadRowError("the line is no JSON object", "repair or remove it")
    return row


def _key(row: Row) -> tuple[int, int]:
    task, rollout = row.get(_TASK), row.get(_ROLLOUT)
    if type(task) is int and type(rollout) is int and task in _INT64 and rollout in _INT64:
        return task, rollout
    field, value = (_ROLLOUT, rollout) if type(task) is int and task in _INT64 else (_TASK, task)
    problem = f"`{field}` is missing" if value is None else f"`{field}` is no 64-bit integer"
    raise _BadRowError(problem, "use the files that `gym eval run` wrote")


def _work_fields(row: Row, offset: int) -> tuple[int, str | None, str | None]:
    # Gym takes an empty or null agent_ref for none at all.
    reference = row.get("agent_ref") or {}
    if not isinstance(reference, dict):
        raise _BadRowError("`agent_ref` is no object", 'write it as {"name": "<agent>"}')
    agent = _name(reference.get("name"), "agent_ref.name")
    server = _name(row.get("_ng_environment_server"), "_ng_environment_server")
    return offset, agent if server is None else server, agent


def _name(value: Any, field: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise _BadRowError(f"`{field}` is no string", "use the files that `gym eval run` wrote")


def _rollout_fields(row: Row, _offset: int) -> tuple[bytes]:
    if usage_of(row) is None:
        raise _BadRowError("`response` or `response.usage` is no object", "remove the row or repair it")
    return (numeric_record(row),)
