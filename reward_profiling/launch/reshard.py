"""Resharding a sweep that may have jobs: refused while any is live, and the ledgers go along.

Promise: what an earlier, interrupted change has left is finished first. New shards continue the numbers of attempts, so
that neither log folders nor requests are taken for earlier ones; they know the jobs of the old layout, whose names they
may share, and have their whole budget. The attempts themselves stay readable in the snapshot.
"""

import time
from collections.abc import Callable, Mapping

from reward_profiling.launch.act import Launcher
from reward_profiling.launch.decide import Budget
from reward_profiling.launch.ledger import Event, read_ledger, record
from reward_profiling.launch.quiet import quiet
from reward_profiling.scheduler.protocol import JobSpec, Scheduler
from reward_profiling.sweep.carry import shards_of
from reward_profiling.sweep.completeness import Plan, load_plan
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.report import SweepReport
from reward_profiling.sweep.reshard import reshard as reshard_files
from reward_profiling.sweep.switch import changing, recover


def reshard(
    sweep: SweepDir,
    num_shards: int,
    scheduler: Scheduler,
    environ: Mapping[str, str],
    note: Callable[[str], None] = lambda _: None,
) -> SweepReport:
    """Deal the sweep over `num_shards` shards; returns its report.

    Raises `RefusedError` while a job is live, `SchedulerUnknownError` when that cannot be known, `SweepError` while
    another process changes the sweep or when it is damaged, `StorageError` when the disk refuses.
    """
    with changing(sweep):
        recover(sweep)
        plan = load_plan(sweep, environ)
        if plan.report.num_shards == num_shards:
            return plan.report
        with quiet(plan, _closer(scheduler)):
            return reshard_files(plan, num_shards, _carry_ledgers, note)


def _closer(scheduler: Scheduler) -> Launcher:
    """A launcher that records what has happened and submits nothing."""

    def prepare(shard: ShardDir, attempt: int) -> JobSpec:
        raise AssertionError(f"attempt {attempt} at {shard.name} while nothing may be submitted")

    return Launcher(scheduler, prepare, Budget(), time.time)


def _carry_ledgers(plan: Plan, after: Plan) -> None:
    ledgers = [read_ledger(shard) for shard in shards_of(plan)]
    last_number = max(ledger.last_number for ledger in ledgers)
    if last_number == 0:
        return
    jobs = {attempt.job_id for ledger in ledgers for attempt in ledger.attempts}
    jobs |= {job for ledger in ledgers for job in ledger.former_jobs}
    for shard in shards_of(after):
        record(
            shard,
            Event.RESHARDED,
            time.time(),
            attempt=last_number,
            num_shards_before=plan.report.num_shards,
            jobs=sorted(jobs),
        )
