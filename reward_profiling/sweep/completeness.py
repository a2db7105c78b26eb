"""How far a shard is, computed from the files and from nothing else (design, decision 4).

Promise: the counts add up, per label and in total; a shard is complete exactly when NeMo Gym would dispatch nothing
more for it; a missing or damaged work list or task table is an error, never "nothing left".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from reward_profiling.errors import SweepError
from reward_profiling.files import storage_error
from reward_profiling.sweep.deal import in_dispatch_order, keys_of, tasks_of_shard
from reward_profiling.sweep.gating import GatingRule, gate_failures
from reward_profiling.sweep.index_state import IndexState
from reward_profiling.sweep.last_look import Basis, recall, remember
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.report import SweepReport, read_report, read_shard_record
from reward_profiling.sweep.rollout_index import RolloutIndex, last_row_at, read_index, update_index
from reward_profiling.sweep.status import Counts, ShardStatus, total
from reward_profiling.sweep.tasks import TaskTable, find_tasks

_KEY = ["task_index", "rollout_index"]


@dataclass(frozen=True)
class Plan:
    """A materialized sweep as needed to judge its shards: read once, used for many looks.

    The task table is read when a look needs it, which one that finds nothing new does not.
    """

    sweep: SweepDir
    report: SweepReport
    table: TaskTable
    rule: GatingRule

    @property
    def tasks(self) -> pl.DataFrame:
        """The task table (`tasks.TASK_SCHEMA`)."""
        return self.table.frame

    def shard_tasks(self, number: int) -> pl.DataFrame:
        """The tasks that a shard collects, in task order (see `deal.tasks_of_shard`)."""
        return tasks_of_shard(self.tasks, number, self.report.layout)


def load_plan(sweep: SweepDir, environment: Mapping[str, str]) -> Plan:
    """Read the report and find its task table; refused when they do not belong together."""
    report = read_report(sweep)
    table = find_tasks(sweep.tasks, report.tasks_digest)
    retry = any(
        setting.name == "gym_eval_run.retry_terminal_timeouts" and setting.value is True for setting in report.settings
    )
    return Plan(sweep, report, table, GatingRule.from_environment(environment, retry_terminal_timeouts=retry))


def check_work_list(shard: ShardDir, report: SweepReport) -> None:
    """Refuse a shard whose work list is missing, cut, of another task table, or dealt or ordered otherwise."""
    record = read_shard_record(shard)
    if (record.tasks_digest, record.layout) != (report.tasks_digest, report.layout):
        raise SweepError(
            "this shard was written for another task table or layout",
            place=str(shard.path),
            cure="start again if the sweep has just been resharded, else materialize it again",
        )
    try:
        size = shard.work_list.stat().st_size
    except FileNotFoundError as error:
        raise SweepError(
            "the work list is missing", place=str(shard.work_list), cure="materialize this sweep again"
        ) from error
    except OSError as error:
        raise storage_error(shard.work_list, error) from error
    if size != record.work_list_bytes:
        raise SweepError(
            f"the work list has {size} bytes instead of {record.work_list_bytes}",
            place=str(shard.work_list),
            cure="materialize this sweep again",
        )


def judge(keys: pl.DataFrame, index: RolloutIndex, rule: GatingRule) -> pl.DataFrame:
    """`keys` with what became of each: `succeeded`, `masked`, `failure_class` (gated failures only), `outstanding`."""
    collected = index.rollouts.select(*_KEY, "masked", succeeded=pl.lit(True))
    failed = gate_failures(index.failures, rule).filter("gated").select(*_KEY, "failure_class")
    return (
        keys.join(collected, on=_KEY, how="left", maintain_order="left")
        .join(failed, on=_KEY, how="left", maintain_order="left")
        .with_columns(pl.col("succeeded").fill_null(False), pl.col("masked").fill_null(False))
        .with_columns(failure_class=pl.when(~pl.col("succeeded")).then("failure_class"))
        .with_columns(outstanding=~pl.col("succeeded") & pl.col("failure_class").is_null())
    )


def count(judged: pl.DataFrame) -> dict[str, Counts]:
    """Counts per label of `judge`'s answer."""
    sums = judged.group_by("label", maintain_order=True).agg(
        pl.len().alias("expected"), pl.col("succeeded", "masked", "outstanding").sum()
    )
    classes: dict[str, dict[str, int]] = {}
    failed = judged.filter(pl.col("failure_class").is_not_null()).group_by("label", "failure_class").len()
    for label, kind, number in failed.sort("label", "failure_class").iter_rows():
        classes.setdefault(label, {})[kind] = number
    return {
        row["label"]: Counts(
            expected=row["expected"],
            succeeded=row["succeeded"],
            masked=row["masked"],
            failed=classes.get(row["label"], {}),
            outstanding=row["outstanding"],
        )
        for row in sums.iter_rows(named=True)
    }


@dataclass(frozen=True)
class Examined:
    """One look at one shard with what it saw: counts, and the rollouts (one per key of the shard) they count."""

    status: ShardStatus
    rollouts: pl.DataFrame


def _check(plan: Plan, shard: ShardDir) -> None:
    """As `check_work_list`; a shard of which nothing was ever written has collected nothing and owes everything."""
    if any(path.exists() for path in (shard.record, shard.work_list, shard.rollouts, shard.failures, shard.attempts)):
        check_work_list(shard, plan.report)
    elif read_report(plan.sweep).layout != plan.report.layout:
        raise SweepError("this sweep has been resharded meanwhile", place=str(shard.path), cure="start again")


def examine(plan: Plan, number: int, *, numbers: bool = False) -> Examined:
    """One look at one shard that reads its rollouts; `numbers` includes their numeric records."""
    shard = plan.sweep.shard(number)
    _check(plan, shard)
    index = read_index(shard, numbers=numbers)
    _check(plan, shard)  # Still: a reshard in between would have put another shard in its place.
    keys = keys_of(plan.shard_tasks(number))
    by_label = count(judge(keys, index, plan.rule))
    own = index.rollouts.join(keys, on=_KEY, how="semi")
    status = ShardStatus(
        shard=shard.name,
        counts=total(by_label.values()),
        by_label=by_label,
        duplicates=index.duplicates,
        foreign=index.rollouts.height - own.height,
        broken=index.broken,
        simulated=bool(index.rollouts["simulated"].any() or index.failures["simulated"].any()),
        rows=index.rollouts.height + index.failures.height,
        bytes_collected=index.bytes_read,
        last_row_at=index.last_row_at,
    )
    return Examined(remember(shard, _basis(plan, index.state), status), own)


def look(plan: Plan, number: int) -> ShardStatus:
    """How far one shard is; reads nothing but what was added since the last look."""
    shard = plan.sweep.shard(number)
    _check(plan, shard)
    state = update_index(shard)
    known = recall(shard, _basis(plan, state))
    _check(plan, shard)
    if known is None:
        return examine(plan, number).status
    return replace(known, last_row_at=last_row_at(shard, state))


def _basis(plan: Plan, state: IndexState) -> Basis:
    return Basis(
        tasks_digest=plan.report.tasks_digest,
        layout=plan.report.layout,
        max_attempts=plan.rule.max_attempts,
        retry_terminal_timeouts=plan.rule.retry_terminal_timeouts,
        rollouts=state.rollouts.fingerprint,
        failures=state.failures.fingerprint,
    )


def outstanding(plan: Plan, number: int) -> pl.DataFrame:
    """The keys (`task_index`, `rollout_index`, `label`) that Gym would dispatch for a shard, in work-list order."""
    keys = keys_of(plan.shard_tasks(number))
    judged = judge(keys, read_index(plan.sweep.shard(number)), plan.rule)
    return in_dispatch_order(judged.filter("outstanding").select(keys.columns), plan.report.layout)
