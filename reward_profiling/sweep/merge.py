"""One file of everything that was collected, and its sidecar.

Promise: each rollout of the sweep once, with its exact bytes; shard after shard, within a shard in the order in which
rollouts were collected. Lines that are no rollout of their shard are left out. Bytes are copied by the index, never
parsed, so it takes what the disk takes; both files appear as wholes or not at all.
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from reward_profiling.errors import RefusedError
from reward_profiling.sweep.byte_ranges import copy_rows
from reward_profiling.sweep.completeness import Plan, check_work_list, count, judge
from reward_profiling.sweep.deal import keys_of
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.opened import open_shard
from reward_profiling.sweep.spools import spools
from reward_profiling.sweep.staged import staged
from reward_profiling.sweep.status import Counts, total
from reward_profiling.sweep.switch import changing

_KEY = ["task_index", "rollout_index"]


@dataclass(frozen=True)
class Merged:
    """What was written: counts per label in manifest order, and where."""

    by_label: dict[str, Counts]
    failed_attempts: int
    rollouts: Path
    failures: Path

    @property
    def without_rollouts(self) -> list[str]:
        return without_rollouts(self.by_label)

    @property
    def complete(self) -> bool:
        return total(self.by_label.values()).complete


def without_rollouts(by_label: dict[str, Counts]) -> list[str]:
    """The labels of which nothing was collected: their environments failed rather than scored badly."""
    return [label for label, counts in by_label.items() if counts.succeeded == 0]


def sidecar(rollouts: Path) -> Path:
    """The failures file beside a file of rollouts, by NeMo Gym's rule (Gym contract 3.1)."""
    return rollouts.with_name(f"{rollouts.stem}_failures.jsonl")


def merge(plan: Plan, output: Path) -> Merged:
    """Write the merged file to `output` and the failed attempts beside it; what is there already is replaced.

    Raises `RefusedError` for an output among the sweep's own files, `SweepError` for a damaged shard or while another
    process changes the sweep, `StorageError` when the disk refuses.
    """
    refuse_own(plan.sweep, output)
    failures = sidecar(output)
    parts: list[dict[str, Counts]] = []
    attempts = 0
    with (
        changing(plan.sweep),
        staged(output.parent) as stage,
        spools([stage / output.name]) as collected,
        spools([stage / failures.name]) as failed,
    ):
        for number in range(plan.report.num_shards):
            shard = plan.sweep.shard(number)
            check_work_list(shard, plan.report)
            keys = keys_of(plan.shard_tasks(number)).with_columns(target=pl.lit(0))
            with open_shard(shard) as files:
                own_failures = files.index.failures.join(keys, on=_KEY)
                copy_rows(files.rollouts, files.index.rollouts.join(keys, on=_KEY), collected)
                copy_rows(files.failures, own_failures, failed)
                attempts += own_failures.height
                parts.append(count(judge(keys, files.index, plan.rule)))
    return Merged(by_label(plan, parts), attempts, output, failures)


def by_label(plan: Plan, parts: list[dict[str, Counts]]) -> dict[str, Counts]:
    """The sums of the shards' counts, in manifest order."""
    labels = [entry.label for entry in plan.report.entries]
    return {label: total(part.get(label, Counts()) for part in parts) for label in labels}


def refuse_own(sweep: SweepDir, output: Path) -> None:
    """Refuse to write over what the sweep itself is made of."""
    place = output.resolve()
    own = (sweep.shards, sweep.snapshots, sweep.next.path, sweep.profiles)
    files = (sweep.report, sweep.tasks, sweep.manifest, sweep.sweep_config, sweep.journal, sweep.change_lock)
    if place in files or place == sweep.path or any(place.is_relative_to(folder) for folder in own):
        raise RefusedError("this is a place of the sweep's own files", place=str(output), cure="name another")
