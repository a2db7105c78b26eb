"""How much of a work list has a rollout, before anything is masked (what Gym prints at the end of a profile).

Promise: `complete + partial + empty` is the number of groups, and masked rollouts count as collected.
"""

from dataclasses import dataclass

import polars as pl

from reward_profiling.profile.gym_files import KEY


@dataclass(frozen=True)
class Completion:
    """Rollouts expected, collected and masked; groups (tasks, or task and label) by what they have of theirs."""

    expected: int
    collected: int
    masked: int
    groups: int
    complete: int
    partial: int
    empty: int

    @property
    def percent(self) -> float:
        """100 for an empty work list."""
        return 100 * self.collected / self.expected if self.expected else 100.0


def completion(labelled_work: pl.DataFrame, rollouts: pl.DataFrame) -> Completion:
    """Count `rollouts` (key and `masked`) against the work list (key and `label`)."""
    groups = (
        labelled_work.join(rollouts.select(*KEY, "masked"), on=KEY, how="left")
        .group_by("task_index", "label")
        .agg(pl.len().alias("expected"), pl.col("masked").count().alias("collected"))
    )
    complete = groups.filter(pl.col("collected") == pl.col("expected")).height
    empty = groups.filter(pl.col("collected") == 0).height
    return Completion(
        expected=labelled_work.height,
        collected=rollouts.height,
        masked=int(rollouts["masked"].sum()),
        groups=groups.height,
        complete=complete,
        partial=groups.height - complete - empty,
        empty=empty,
    )
