"""Mean, max, min, median and standard deviation of every column in every group (Gym contract 6.5).

Promise: equal to what Gym writes, to the last bit for ordinary data. Gym sums with gaps as zeros over all rollouts of a
group, by NumPy's pairwise summation, and takes deviations in a second pass; so does this module, in bulk for all groups
of one size. Sums in another order would tell a constant column from one with a tiny spread differently than Gym does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_profiling.profile.grouping import Groups
from reward_profiling.profile.number_table import NumberTable, Values

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ColumnStatistics:
    """One column: an entry per group.

    Where `count` (values that are no gap) is 0 the others mean nothing; `std` is NaN where the group has none.
    `max` and `min` are integers when the table's columns are.
    """

    count: NDArray[np.int64]
    mean: Floats
    max: Values
    min: Values
    median: Floats
    std: Floats


def group_statistics(table: NumberTable, groups: Groups) -> dict[str, ColumnStatistics]:
    """Statistics of every column of `table` in every group."""
    return {name: _column(values, groups) for name, values in table.columns.items()}


def _column(values: Values, groups: Groups) -> ColumnStatistics:
    number = len(groups.sizes)
    count = np.zeros(number, dtype=np.int64)
    mean, median, std = (np.empty(number) for _ in range(3))
    highest, lowest = np.empty_like(values, shape=number), np.empty_like(values, shape=number)
    for chosen, block in _blocks(values, groups):
        floats = block.astype(np.float64)
        count[chosen] = np.count_nonzero(~np.isnan(floats), axis=1)
        mean[chosen], std[chosen] = _mean_and_std(floats, count[chosen])
        median[chosen] = _median(floats, count[chosen])
        # fmax and fmin pass over NaN and keep integers integers.
        highest[chosen] = np.fmax.reduce(block, axis=1)
        lowest[chosen] = np.fmin.reduce(block, axis=1)
    return ColumnStatistics(count, mean, highest, lowest, median, std)


def _blocks(values: Values, groups: Groups) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """For each group size the groups that have it and their values, one row per group."""
    for size in np.unique(groups.sizes):
        chosen = np.flatnonzero(groups.sizes == size)
        places = groups.starts[chosen, np.newaxis] + np.arange(size)
        yield chosen, values[groups.rows[places]]


def _mean_and_std(floats: Floats, count: NDArray[np.int64]) -> tuple[Floats, Floats]:
    gaps = np.isnan(floats)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # Adding 0.0 turns a sum of minus zeros into zero.
        mean = (np.where(gaps, 0.0, floats).sum(axis=1) + 0.0) / count
        squares = (mean[:, np.newaxis] - floats) ** 2
        variance = np.where(gaps, 0.0, squares).sum(axis=1) / (count - 1)
        # Gym writes 0.0 for columns without a gap where no column has a std: that is, in groups of one rollout.
        alone = np.where(count == floats.shape[1], 0.0, np.nan)
        return mean, np.where(count > 1, np.sqrt(variance), alone)


def _median(floats: Floats, count: NDArray[np.int64]) -> Floats:
    ordered = np.sort(floats, axis=1)  # NaN last
    lower = np.take_along_axis(ordered, np.maximum(count - 1, 0)[:, np.newaxis] // 2, axis=1)[:, 0]
    upper = np.take_along_axis(ordered, count[:, np.newaxis] // 2, axis=1)[:, 0]
    return np.where(lower == upper, lower, (lower + upper) / 2) + 0.0  # never minus zero
