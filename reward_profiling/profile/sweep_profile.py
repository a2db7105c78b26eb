"""The profile of a sweep: a table per environment and a summary of all.

Promise: every environment of the sweep has a table and a summary row, with or without rollouts; the rollouts profiled
are exactly the ones counted, or the profile is refused; partial and simulated results say so in every table; the
summary is written last, so that it never speaks of a table that is not there.
"""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from reward_profiling.errors import RefusedError, RolloutsError, SweepError
from reward_profiling.files import exclusive_lock
from reward_profiling.profile.environment_summary import SUMMARY_SCHEMA, summarize
from reward_profiling.profile.environment_table import profile_environment
from reward_profiling.profile.label_spool import LabelSpool
from reward_profiling.profile.stamped_parquet import write_stamped
from reward_profiling.profile.sweep_inputs import TASK_COLUMNS, CollectedShard, Environment, Stamp
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.numbers import is_masked
from reward_profiling.sweep.status import Counts

SUMMARY = "summary"


@dataclass(frozen=True)
class SweepProfile:
    """What was written: `summary` (`SUMMARY_SCHEMA`, one row per environment) and where everything lies."""

    summary: pl.DataFrame
    summary_path: Path
    tables: dict[str, Path]

    @property
    def complete(self) -> bool:
        """No rollout of any environment is outstanding."""
        return bool(self.summary["complete"].all())

    @property
    def simulated(self) -> bool:
        """Some rollout was made by the collector stand-in."""
        return bool(self.summary["simulated"].any())

    @property
    def mixed(self) -> str:
        """What changed about the meaning of rollouts while they were collected; empty for nothing."""
        return str(self.summary["mixed"].first()) if self.summary.height else ""


def table_path(sweep: SweepDir, label: str) -> Path:
    """Where the table of an environment lies."""
    return sweep.profiles / f"{label}.parquet"


def summary_path(sweep: SweepDir) -> Path:
    """Where the summary lies; a sweep has been profiled when it exists."""
    return table_path(sweep, SUMMARY)


def profile_sweep(
    sweep: SweepDir,
    environments: Sequence[Environment],
    tasks: pl.DataFrame,
    shards: Iterable[CollectedShard],
    stamp: Stamp,
) -> SweepProfile:
    """Profile what the shards have collected and write it under `sweep.profiles`.

    `environments` in the order of the manifest, `tasks` (`TASK_COLUMNS`) in task order, `shards` every shard once, in
    any order; they are taken one by one. Raises `RolloutsError` when rollouts and counts do not agree, `RefusedError`
    for a label that is the name of the summary, `SweepError` for tasks of no environment.
    """
    tasks = tasks.select(pl.col(name).cast(kind) for name, kind in TASK_COLUMNS.items())
    _refuse_labels(sweep, {environment.label for environment in environments}, set(tasks["label"]))
    with exclusive_lock(sweep.profiles / ".lock"), tempfile.TemporaryDirectory(prefix="reward_profiling_") as folder:
        spool = LabelSpool(Path(folder), tasks, shards)
        rows = [_profile_one(sweep, environment, tasks, spool, stamp) for environment in environments]
        summary = pl.concat([pl.DataFrame(schema=SUMMARY_SCHEMA), *rows])
        path = summary_path(sweep)
        complete = bool(summary["complete"].all())
        write_stamped(path, summary, stamp, complete=complete, simulated=spool.simulated)
    tables = {environment.label: table_path(sweep, environment.label) for environment in environments}
    return SweepProfile(summary, path, tables)


def _profile_one(
    sweep: SweepDir, environment: Environment, tasks: pl.DataFrame, spool: LabelSpool, stamp: Stamp
) -> pl.DataFrame:
    label = environment.label
    rollouts, counts = spool.rollouts(label), spool.counts(label)
    own = tasks.filter(pl.col("label") == label)
    _refuse_disagreement(label, own, rollouts, counts)
    profile = profile_environment(own, rollouts)
    table = profile.table.with_columns(complete=pl.lit(counts.complete), simulated=pl.lit(spool.simulated))
    write_stamped(table_path(sweep, label), table, stamp, complete=counts.complete, simulated=spool.simulated)
    return summarize(environment, profile, counts, stamp, simulated=spool.simulated)


def _refuse_labels(sweep: SweepDir, environments: set[str], labels: set[str]) -> None:
    if SUMMARY in environments:
        raise RefusedError(
            f"an environment cannot be labelled `{SUMMARY}`", place=str(sweep.path), cure="rename the entry's label"
        )
    if not labels <= environments:
        raise SweepError(
            f"the task table has tasks of {', '.join(sorted(labels - environments))}, which is no environment",
            place=str(sweep.path),
            cure="materialize the sweep again",
        )


def _refuse_disagreement(label: str, tasks: pl.DataFrame, rollouts: pl.DataFrame, counts: Counts) -> None:
    masked = int(is_masked(rollouts["numbers"]).sum())
    found = (int(tasks["repeats"].sum()), rollouts.height, masked)
    counted = (counts.expected, counts.succeeded, counts.masked)
    if found != counted:
        raise RolloutsError(
            f"{found[0]} rollouts expected, {found[1]} collected, {found[2]} masked by the tables, but {counted[0]}, "
            f"{counted[1]}, {counted[2]} by the counts",
            place=label,
            cure="rollouts came in meanwhile or a file was changed by hand; profile again",
        )
