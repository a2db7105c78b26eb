"""Rollouts that arrive shard by shard, handed out label by label.

Promise: one pass over the shards; what waits lies in Parquet parts on disk, so that memory holds one shard or one label
at a time, whatever the size of the sweep.
"""

from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from reward_profiling.errors import RolloutsError
from reward_profiling.files import storage_error
from reward_profiling.profile.gym_files import KEY
from reward_profiling.profile.sweep_inputs import RECORD_COLUMNS, CollectedShard
from reward_profiling.sweep.status import Counts, total


class LabelSpool:
    """Rollouts and counts of a sweep by label, kept under `directory`, which is the caller's to remove."""

    def __init__(self, directory: Path, tasks: pl.DataFrame, shards: Iterable[CollectedShard]) -> None:
        self.simulated = False
        self._directory = directory
        self._counts: dict[str, list[Counts]] = {}
        # Labels are the user's words and need not be file names.
        self._folders = {label: str(place) for place, label in enumerate(tasks["label"].unique(maintain_order=True))}
        for place, shard in enumerate(shards):
            self._add(place, shard, tasks)

    def _add(self, place: int, shard: CollectedShard, tasks: pl.DataFrame) -> None:
        self.simulated |= shard.simulated
        for label, counts in shard.by_label.items():
            self._counts.setdefault(label, []).append(counts)
        rollouts = (
            shard.rollouts.select(pl.col(name).cast(kind) for name, kind in RECORD_COLUMNS.items())
            .join(tasks.select("task_index", "label", "repeats"), on="task_index")
            .filter(pl.col("rollout_index").is_between(0, pl.col("repeats"), closed="left"))
        )
        try:
            for (label,), part in rollouts.group_by("label"):
                folder = self._directory / self._folders[str(label)]
                folder.mkdir(exist_ok=True)
                pq.write_table(part.select(*RECORD_COLUMNS).to_arrow(), folder / f"{place}.parquet")
        except OSError as error:
            raise storage_error(self._directory, error) from error

    def counts(self, label: str) -> Counts:
        """The counts of `label` over all shards."""
        return total(self._counts.get(label, ()))

    def rollouts(self, label: str) -> pl.DataFrame:
        """The rollouts of `label` (`RECORD_COLUMNS`) by (task, rollout); `RolloutsError` when a key occurs twice."""
        folder = self._folders.get(label)
        parts = sorted((self._directory / folder).glob("*.parquet")) if folder else []
        frame = pl.concat([pl.DataFrame(schema=RECORD_COLUMNS), *map(pl.read_parquet, parts)]).sort(KEY)
        twice = frame.filter(~pl.struct(KEY).is_first_distinct())
        if twice.height:
            task, rollout = twice.select(KEY).row(0)
            raise RolloutsError(
                f"rollout {task}:{rollout} was collected by two shards",
                place=label,
                cure="two shards hold its key: compare their work lists",
            )
        return frame
