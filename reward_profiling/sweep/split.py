"""One directory per environment: its rollouts, its failed attempts and its slice of the work list.

Promise: whose a row is follows from its task index, never from its agent, which environments may share. Bytes are
copied by the index, never parsed; the order is that of `merge`, and that of dispatch in the work list. All files appear
when all are complete. A directory is a complete input of `gym eval profile`.
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from reward_profiling.sweep.byte_ranges import copy_rows, deal_lines
from reward_profiling.sweep.carry import keys_in_order, shards_of
from reward_profiling.sweep.completeness import Plan, check_work_list, count, judge
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.merge import by_label, refuse_own, without_rollouts
from reward_profiling.sweep.opened import open_shard
from reward_profiling.sweep.spools import spools
from reward_profiling.sweep.staged import staged
from reward_profiling.sweep.status import Counts, total
from reward_profiling.sweep.switch import changing

_KEY = ["task_index", "rollout_index"]


@dataclass(frozen=True)
class Split:
    """What was written: counts per label in manifest order, and the directory of each."""

    by_label: dict[str, Counts]
    folders: dict[str, Path]

    @property
    def without_rollouts(self) -> list[str]:
        return without_rollouts(self.by_label)

    @property
    def complete(self) -> bool:
        return total(self.by_label.values()).complete


def split(plan: Plan, out_dir: Path) -> Split:
    """Write `out_dir/<label>/` for every label, with or without rollouts; files that are there already are replaced.

    Raises `RefusedError` for a place among the sweep's own files, `SweepError` for a damaged shard or while another
    process changes the sweep, `StorageError` when the disk refuses.
    """
    labels = [entry.label for entry in plan.report.entries]
    for label in labels:
        refuse_own(plan.sweep, out_dir / label)
    keys = keys_in_order(plan)
    targets = pl.DataFrame({"label": labels, "target": range(len(labels))}, schema_overrides={"target": pl.Int64})
    keys = keys.join(targets, on="label", maintain_order="left").drop("first_row")
    with changing(plan.sweep), staged(out_dir) as stage:
        # The stage has the file names of a shard, because Gym derives one from the other.
        folders = [ShardDir(stage / label) for label in labels]
        for shard in shards_of(plan):
            check_work_list(shard, plan.report)
        with spools([folder.work_list for folder in folders]) as work_lists:
            deal_lines([shard.work_list for shard in shards_of(plan)], keys, work_lists)
        parts = _split_rows(plan, folders, keys)
    return Split(by_label(plan, parts), {label: out_dir / label for label in labels})


def _split_rows(plan: Plan, folders: list[ShardDir], keys: pl.DataFrame) -> list[dict[str, Counts]]:
    parts = []
    with (
        spools([folder.rollouts for folder in folders]) as rollouts,
        spools([folder.failures for folder in folders]) as failures,
    ):
        for number, shard in enumerate(shards_of(plan)):
            own = keys.filter(source=number).select(*_KEY, "label", "target")
            with open_shard(shard) as files:
                copy_rows(files.rollouts, files.index.rollouts.join(own, on=_KEY), rollouts)
                copy_rows(files.failures, files.index.failures.join(own, on=_KEY), failures)
                parts.append(count(judge(own, files.index, plan.rule)))
    return parts
