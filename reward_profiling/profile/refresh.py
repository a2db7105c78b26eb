"""Bringing the profile of a sweep up to date with what has been collected.

Promise: tasks, rollouts and counts come from the sweep's own files at one moment; partial and simulated results are
marked as such in everything that is written.
"""

import datetime
from collections.abc import Iterator, Mapping

import polars as pl

from reward_profiling.errors import IncompleteError
from reward_profiling.profile.catalog import is_profiled
from reward_profiling.profile.stamped_parquet import read_stamped
from reward_profiling.profile.sweep_inputs import CollectedShard, Environment, Stamp
from reward_profiling.profile.sweep_profile import SweepProfile, profile_sweep, summary_path
from reward_profiling.sweep.completeness import Plan, examine, load_plan, look
from reward_profiling.sweep.deal import owner
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.status import Counts, total


def refresh(sweep: SweepDir, environ: Mapping[str, str], *, allow_partial: bool = True) -> SweepProfile:
    """Profile what `sweep` has collected so far.

    Raises `IncompleteError`, and writes nothing, when rollouts are outstanding and `allow_partial` is off.
    """
    plan = load_plan(sweep, environ)
    if not allow_partial:
        _refuse_partial(plan)
    report = plan.report
    mixed = ", ".join(dict.fromkeys(part for change in report.mixed for part in change.parts))
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return profile_sweep(
        sweep,
        [Environment(entry.label, entry.pass_threshold) for entry in report.entries],
        _with_shard(plan),
        _collected(plan),
        Stamp(report.nickname, report.manifest_digest, moment, mixed),
    )


def _with_shard(plan: Plan) -> pl.DataFrame:
    """The task table with the `shard` that collects each task; null when its repeats are dealt over several."""
    layout = plan.report.layout
    by_task = owner(layout) if layout.deal == "task" else pl.lit(None, pl.Int64)
    return plan.tasks.with_columns(shard=by_task)


def is_current(plan: Plan) -> bool:
    """Whether the profile there is counts the very rollouts that are there, under the manifest as materialized."""
    if not is_profiled(plan.sweep):
        return False
    summary, _ = read_stamped(summary_path(plan.sweep))
    profiled = {
        row["label"]: (row["manifest_digest"], row["succeeded"], row["masked"], row["failed"], row["outstanding"])
        for row in summary.iter_rows(named=True)
    }
    digest = plan.report.manifest_digest
    statuses = [look(plan, number) for number in range(plan.report.num_shards)]
    found = {}
    for entry in plan.report.entries:
        counts = total(status.by_label.get(entry.label, Counts()) for status in statuses)
        found[entry.label] = (digest, counts.succeeded, counts.masked, counts.failed_total, counts.outstanding)
    return profiled == found


def _collected(plan: Plan) -> Iterator[CollectedShard]:
    for number in range(plan.report.num_shards):
        seen = examine(plan, number, numbers=True)
        yield CollectedShard(seen.status.by_label, seen.rollouts, seen.status.simulated)


def _refuse_partial(plan: Plan) -> None:
    owed = sum(look(plan, number).counts.outstanding for number in range(plan.report.num_shards))
    if owed:
        raise IncompleteError(
            f"{owed} rollouts are outstanding, and the manifest does not allow partial profiles",
            place=str(plan.sweep.path),
            cure="run the sweep to its end, or set gym_eval_profile.allow_partial_rollouts: true",
        )
