"""Reading one of NeMo Gym's files from front to back, with no help from any index.

Promise: what is found is what the bytes say and nothing remembered. This reader shares with the index only what a
number of a row is, so that the one can be held against the other.
"""

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from reward_profiling.files import storage_error
from reward_profiling.sweep.numbers import numeric_record

ROW_SCHEMA = {
    "task_index": pl.Int64(),
    "rollout_index": pl.Int64(),
    "offset": pl.Int64(),
    "length": pl.Int64(),
    "digest": pl.UInt64(),
    "masked": pl.Boolean(),
    "numbers": pl.UInt64(),
    "failure_class": pl.String(),
    "terminal": pl.Boolean(),
}
"""`digest` is that of the line without its newline, `numbers` that of the row's numeric record (see `numbers`); the
others are what the row says of itself."""

_BATCH_ROWS = 20_000
_BUFFER_BYTES = 4 << 20


@dataclass(frozen=True)
class Scan:
    """The rows with a key, in file order (`ROW_SCHEMA`); lines that hold none; whether the last line is cut."""

    rows: pl.DataFrame
    broken: int = 0
    unkeyed: int = 0
    torn: bool = False


def digest(content: bytes) -> int:
    """8 bytes of BLAKE2b as a number."""
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big")


def scan(path: Path) -> Scan:
    """Read `path`; a file that is not there holds nothing. Raises `StorageError`."""
    frames = [pl.DataFrame(schema=ROW_SCHEMA)]
    rows: list[tuple[Any, ...]] = []
    broken = unkeyed = offset = 0
    torn = False
    try:
        with path.open("rb", buffering=_BUFFER_BYTES) as stream:
            for line in stream:
                row = _parse(line)
                if isinstance(row, dict):
                    key = row.get("_ng_task_index"), row.get("_ng_rollout_index")
                    if type(key[0]) is int and type(key[1]) is int:
                        rows.append((*key, offset, len(line), digest(line.removesuffix(b"\n")), *_marks(row)))
                    else:
                        unkeyed += 1
                elif not line.endswith(b"\n") and line.strip():
                    torn = True
                elif line.strip():
                    broken += 1
                offset += len(line)
                if len(rows) == _BATCH_ROWS:
                    frames.append(pl.DataFrame(rows, schema=ROW_SCHEMA, orient="row"))
                    rows.clear()
    except FileNotFoundError:
        return Scan(frames[0])
    except OSError as error:
        raise storage_error(path, error) from error
    frames.append(pl.DataFrame(rows, schema=ROW_SCHEMA, orient="row"))
    return Scan(pl.concat(frames), broken, unkeyed, torn)


def _parse(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def _marks(row: dict[str, Any]) -> tuple[bool, int, str, bool]:
    kind = row.get("_ng_failure_class") or "unknown"
    numbers = digest(numeric_record(row))
    return bool(row.get("mask_sample")), numbers, str(kind), bool(row.get("_ng_failure_terminal"))
