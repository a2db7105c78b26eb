"""The names under which statistics stand in Gym's files, and in which order (Gym contract 6.5).

Promise: stat-major blocks `mean/ max/ min/ median/ std/`, each over the columns in column order; a name whose
statistic does not exist in a group is left out of that group.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_profiling.profile.group_statistics import ColumnStatistics

BLOCKS = ("mean", "max", "min", "median", "std")


@dataclass(frozen=True)
class KeySeries:
    """One output key, its value in every group, and in which groups it exists."""

    key: str
    values: NDArray[Any]
    exists: NDArray[np.bool_]


def key_series(statistics: Mapping[str, ColumnStatistics]) -> list[KeySeries]:
    """All keys of the five blocks in Gym's order."""
    return [
        KeySeries(
            f"{block}/{name}", getattr(column, block), ~np.isnan(column.std) if block == "std" else column.count > 0
        )
        for block in BLOCKS
        for name, column in statistics.items()
    ]


def group_objects(series: Sequence[KeySeries], number: int) -> Iterator[dict[str, int | float]]:
    """For each of `number` groups the keys that exist in it, as plain Python numbers."""
    keys = [one.key for one in series]
    values = zip(*(one.values.tolist() for one in series), strict=True) if series else [()] * number
    exists = zip(*(one.exists.tolist() for one in series), strict=True) if series else [()] * number
    for row, there in zip(values, exists, strict=True):
        yield {key: value for key, value, is_there in zip(keys, row, there, strict=True) if is_there}
