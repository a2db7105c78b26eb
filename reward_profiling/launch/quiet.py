"""Making sure that nothing runs on a sweep, and keeping it so.

Promise: `quiet` is entered only when the ledgers, the scheduler's queue, the shards' locks and the age of the newest
rows all say that no job is live; none can be submitted or start to collect before it ends. A scheduler that does not
answer, or that does not answer for an attempt, is no proof of rest.
"""

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from reward_profiling.errors import RefusedError
from reward_profiling.files import exclusive_lock
from reward_profiling.launch.act import Launcher
from reward_profiling.launch.decide import Wait
from reward_profiling.launch.ledger import read_ledger
from reward_profiling.launch.watch import is_job_of, settle
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.layout import ShardDir

RECENT_SECONDS = 60.0
"""Rows younger than this and than the shard's last known rest come from something that may still write."""


@contextlib.contextmanager
def quiet(plan: Plan, launcher: Launcher) -> Iterator[None]:
    """Keep all jobs from the sweep for as long as the block lasts.

    Endings that nobody has recorded yet are recorded first. Raises `RefusedError` naming what is live, and
    `SchedulerUnknownError` when the scheduler does not answer.
    """
    shards = [plan.sweep.shard(number) for number in range(plan.report.num_shards)]
    jobs = launcher.scheduler.queue()
    for number, shard in enumerate(shards):
        _, action = settle(plan, number, launcher, jobs)
        if isinstance(action, Wait):
            _refuse(shard, action.reason)
    with contextlib.ExitStack() as stack:
        for shard in shards:
            _hold(shard, stack)
        # Once more, now that nobody can submit: what was asked above may have changed before the locks were taken.
        for job in launcher.scheduler.queue():
            if job.live and is_job_of(plan.sweep, job.name):
                _refuse(ShardDir(plan.sweep.shards / job.name.split(".")[-2]), f"job {job.id} is {job.state.value}")
        for shard in shards:
            _refuse_live(shard, launcher.clock())
        yield


def _hold(shard: ShardDir, stack: contextlib.ExitStack) -> None:
    if not stack.enter_context(exclusive_lock(shard.submit_lock, wait=False)):
        _refuse(shard, "a job is being submitted")
    if not stack.enter_context(exclusive_lock(shard.collect_lock, wait=False)):
        _refuse(shard, "a job holds it, whatever the scheduler says")


def _refuse_live(shard: ShardDir, now: float) -> None:
    ledger = read_ledger(shard)
    if ledger.open_attempt is not None:
        _refuse(shard, f"the end of attempt {ledger.open_attempt.number} is not recorded")
    for path in (shard.rollouts, shard.failures):
        written = path.stat().st_mtime if path.exists() and path.stat().st_size else 0.0
        if written > ledger.at_rest_at and now - written < RECENT_SECONDS:
            _refuse(shard, f"{path.name} was written {max(now - written, 0):.0f} s ago by something the ledger lacks")


def _refuse(shard: ShardDir, reason: str) -> NoReturn:
    raise RefusedError(
        f"{shard.name} is live: {reason}",
        place=str(shard.path),
        cure="wait until its job has ended, or cancel it, and run again",
    )
