"""The numbers of many rollouts as columns (Gym contract 6.4).

Promise: columns stand in the order of their first appearance, a missing value is NaN, and columns are integers exactly
when every one of them holds integers (or booleans) alone and has no gap: the case in which `max` and `min` are JSON
integers (Gym contract 6.5).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_profiling.sweep.numbers import read_numbers

Values = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64]

_BATCH_ROWS = 10_000


@dataclass(frozen=True)
class NumberTable:
    """Column name to its values, one per rollout, in the order in which the rollouts were given."""

    columns: Mapping[str, Values]

    @classmethod
    def from_records(cls, records: Iterable[bytes]) -> "NumberTable":
        """The table of `numeric_record`s, given in (task, rollout) order."""
        pieces: dict[str, list[NDArray[Any]]] = {}
        height = 0
        for rows in _batches(records):
            for name in dict.fromkeys(chain.from_iterable(rows)):
                if name not in pieces:
                    pieces[name] = [np.full(height, np.nan)] if height else []
            for name, arrays in pieces.items():
                arrays.append(_array([row.get(name, np.nan) for row in rows]))
            height += len(rows)
        columns = {name: np.concatenate(arrays) for name, arrays in pieces.items()}
        if any(column.dtype.kind == "f" for column in columns.values()):
            columns = {name: column.astype(np.float64) for name, column in columns.items()}
        return cls(columns)


def _batches(records: Iterable[bytes]) -> Iterator[list[dict[str, int | float]]]:
    remaining = iter(records)
    while batch := [read_numbers(record).columns() for record in islice(remaining, _BATCH_ROWS)]:
        yield batch


def _array(values: list[int | float]) -> NDArray[Any]:
    array = np.array(values)
    return array if array.dtype.kind in "iuf" else array.astype(np.float64)
