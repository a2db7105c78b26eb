"""Rollouts sorted into groups: per task, per task and label, or per label.

Promise: groups ascend by their key, the rollouts of a group ascend by (task, rollout), and rollouts without a value of
the key belong to no group.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reward_profiling.profile.gym_files import KEY


@dataclass(frozen=True)
class Groups:
    """`members` holds the rollouts, group after group; `keys` one row per group: its key and its `size`.

    `rows` gives for each row of `members` its place in the frame that was grouped; `starts` and `sizes` cut `members`
    into groups.
    """

    members: pl.DataFrame
    keys: pl.DataFrame
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def firsts(self) -> pl.DataFrame:
        """The first rollout of each group."""
        return self.members[self.starts]

    def slices(self) -> Iterator[slice]:
        """The rows of `members` of each group."""
        for start, size in zip(self.starts.tolist(), self.sizes.tolist(), strict=True):
            yield slice(start, start + size)


def group(measured: pl.DataFrame, by: Sequence[str]) -> Groups:
    """Group the rollouts `measured` (at least the key and the columns `by`) by `by`."""
    members = measured.with_row_index("row").drop_nulls(by).sort(*by, *(name for name in KEY if name not in by))
    keys = members.group_by(by, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("size"))
    sizes = keys["size"].to_numpy()
    return Groups(
        members=members.drop("row"),
        keys=keys,
        rows=members["row"].cast(pl.Int64).to_numpy(),
        starts=np.cumsum(sizes) - sizes,
        sizes=sizes,
    )
