"""What a profile needs of one rollout row, as one small JSON value.

Promise: `numeric_record` keeps everything of a rollout that Gym contract 6.2, 6.4 and 6.5 may ask for later (mask flag,
raw reward, numbers in their order, ints as ints) and nothing else; `read_numbers` reads it back. A profile made from
stored records therefore equals one made from the rows themselves, because both pass through here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

Number = int | float
REWARD = "reward"
MASK = "mask_sample"

_NUMBER_TYPES = frozenset({int, float, bool})
# Below, `+value` is 0 or 1 for a boolean and leaves every other number as it is, minus zero included.


@dataclass(frozen=True, slots=True)
class RolloutNumbers:
    """The numeric part of one rollout.

    `top` holds, in the row's order, the top-level numbers whose name does not start with `_`, the raw reward (any JSON
    type) and None where a value that is no number keeps the place of a usage number. `usage` holds the numbers of
    `response.usage` in order, and None where one that is no number hides a top-level number.
    """

    masked: bool
    top: dict[str, Any]
    usage: dict[str, Any]

    def columns(self) -> dict[str, Number]:
        """Column name to value, for statistics: usage wins and keeps the replaced place; booleans count 0 or 1.

        A name that is absent is a gap (Gym contract 6.4).
        """
        return {
            name: +value
            for name, value in (self.top | self.usage).items()
            if type(value) in _NUMBER_TYPES and name[:1] != "_"
        }

    def info(self) -> dict[str, Any]:
        """The reward as it was, then usage numbers, then top-level numbers, a later write replacing an earlier value.

        This is the tail of a `rollout_infos` entry (Gym contract 6.5): names with `_` count in usage only, top-level
        wins over usage, and a usage number called `reward` replaces the reward.
        """
        info = {REWARD: self.top[REWARD]} if REWARD in self.top else {}
        for name, value in self.usage.items():
            if value is not None:
                info[name] = +value
        for name, value in self.top.items():
            if type(value) in _NUMBER_TYPES and name not in (REWARD, "response"):
                info[name] = +value
        return info


def usage_of(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """`response.usage` of a rollout row: `{}` when absent, null or empty; None when it is there but is no object.

    Gym's own profile refuses a file with a row of the last kind.
    """
    response = row.get("response") or {}
    usage = (response.get("usage") or {}) if isinstance(response, dict) else None
    return usage if isinstance(usage, dict) else None


def numeric_record(row: Mapping[str, Any]) -> bytes:
    """The numeric part of `row`, one rollout as orjson parsed it, as compact JSON `[masked, top, usage]`.

    Never fails on a parsed row: a response or usage that is no object counts as having no usage (see `usage_of`). About
    100 to 200 bytes for an ordinary row. `top` and `usage` are those of `RolloutNumbers`.
    """
    # Loops, not comprehensions: this runs for each of millions of rows, most of whose values are of no interest.
    usage = usage_of(row) or {}
    top: dict[str, Any] = {}
    for name, value in row.items():
        kept = type(value) in _NUMBER_TYPES or name == REWARD
        if (kept or name in usage) and name[:1] != "_" and name != MASK:
            top[name] = value if kept else None
    numbers: dict[str, Any] = {}
    for name, value in usage.items():
        if type(value) in _NUMBER_TYPES:
            numbers[name] = value
        elif name in top:
            numbers[name] = None
    return orjson.dumps([bool(row.get(MASK)), top, numbers])


def read_numbers(record: bytes) -> RolloutNumbers:
    """The inverse of `numeric_record`."""
    return RolloutNumbers(*orjson.loads(record))


def is_masked(records: pl.Series) -> pl.Series:
    """Which of the records (Binary) are masked, without reading them."""
    return records.bin.starts_with(b"[true,")
