"""Carrying out a decision: submit, adopt, close, stop; and a person's release.

Promise: at most one live job per shard (design, decision 6). A submission happens under the shard's lock, after asking
the scheduler and the ledger once more, with the intent on disk before the scheduler is asked. After an ambiguous answer
nothing is assumed: the next look at the queue decides.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reward_profiling.errors import LaunchError, SchedulerUnknownError
from reward_profiling.files import exclusive_lock
from reward_profiling.launch.decide import Adopt, Budget, Close, ShardState, Submit, decide
from reward_profiling.launch.exit_record import read_exit_record
from reward_profiling.launch.ledger import Event, read_ledger, record
from reward_profiling.scheduler.protocol import Job, JobSpec, JobState, Scheduler
from reward_profiling.sweep.layout import ShardDir

PrepareJob = Callable[[ShardDir, int], JobSpec]
"""Renders the job of one attempt (its number counts from 1) and says how to submit it."""


@dataclass(frozen=True)
class Launcher:
    """What it takes to submit: a scheduler, a way to render a job, a budget and a clock (Unix seconds)."""

    scheduler: Scheduler
    prepare: PrepareJob
    budget: Budget
    clock: Callable[[], float]

    def submit(self, shard: ShardDir, name: str, state: ShardState) -> bool:
        """Submit the shard's outstanding work; False when another process is at it or a fresh look says otherwise.

        Raises `LaunchError` when the scheduler refuses the job, `SchedulerUnknownError` when its answer is lost.
        """
        with exclusive_lock(shard.submit_lock, wait=False) as held:
            if not held:
                return False
            jobs = jobs_by_name(self.scheduler.queue()).get(name, ())
            fresh = ShardState(state.status, read_ledger(shard), jobs)
            if not isinstance(decide(fresh, self.budget), Submit):
                return False
            # A number is never used twice: an unanswered one may still turn up as a job.
            number = fresh.ledger.last_number + 1
            spec = self.prepare(shard, number)
            record(shard, Event.SUBMITTING, self.clock(), attempt=number)
            try:
                job_id = self.scheduler.submit(spec)
            except LaunchError as error:
                record(shard, Event.REFUSED, self.clock(), attempt=number, reason=str(error))
                raise
            self._record_job(shard, Event.SUBMITTED, number, job_id, name, state)
        return True

    def adopt(self, shard: ShardDir, name: str, state: ShardState, action: Adopt) -> bool:
        """Take a job that is already there as an attempt; False when another process was faster."""
        with exclusive_lock(shard.submit_lock, wait=False) as held:
            ledger = read_ledger(shard)
            if not held or ledger != state.ledger:
                return False
            self._record_job(shard, Event.ADOPTED, ledger.next_number, action.job.id, name, state)
        return True

    def close(self, shard: ShardDir, state: ShardState, action: Close) -> bool:
        """Record the end of an attempt, from the scheduler's records, else as LOST, with the exit record's message.

        False when the scheduler's history says that the job is live after all, or another process was faster.
        """
        attempt = action.attempt
        if attempt.scheduler != self.scheduler.kind:
            raise SchedulerUnknownError(
                f"attempt {attempt.number} was given to {attempt.scheduler}, which is not asked here",
                place=shard.name,
                cure=f"choose --scheduler {attempt.scheduler}",
            )
        job = action.job or self.scheduler.history([attempt.job_id]).get(attempt.job_id)
        if job is not None and job.name != attempt.job_name:
            job = None  # Another cluster's job, or a number that was used again.
        if job is not None and job.live:
            return False
        left = read_exit_record(shard.exit_record(attempt.number))
        reason = left.message if left is not None else (job.reason if job is not None else "no record is left of it")
        with exclusive_lock(shard.submit_lock, wait=False) as held:
            if not held or read_ledger(shard).open_attempt != attempt:
                return False
            record(
                shard,
                Event.ENDED,
                self.clock(),
                attempt=attempt.number,
                job_id=attempt.job_id,
                state=(job.state if job is not None else JobState.LOST).value,
                reason=reason,
                outstanding=state.status.counts.outstanding,
                rows=state.status.rows,
                nodes=list(job.nodes if job is not None else ()),
            )
        return True

    def stop(self, shard: ShardDir, state: ShardState, reason: str) -> None:
        """Record that the shard is given up, once."""
        if state.ledger.stopped is None:
            record(shard, Event.STOPPED, self.clock(), reason=reason)

    def release(self, shard: ShardDir) -> None:
        """A person has looked at a shard that was given up: its budget of attempts in a row starts anew."""
        if read_ledger(shard).stopped is not None:
            record(shard, Event.RELEASED, self.clock())

    def _record_job(
        self, shard: ShardDir, event: Event, number: int, job_id: str, name: str, state: ShardState
    ) -> None:
        record(
            shard,
            event,
            self.clock(),
            attempt=number,
            job_id=job_id,
            job_name=name,
            scheduler=self.scheduler.kind,
            outstanding=state.status.counts.outstanding,
            rows=state.status.rows,
        )


def jobs_by_name(jobs: tuple[Job, ...]) -> Mapping[str, tuple[Job, ...]]:
    """The scheduler's answer, grouped by job name."""
    grouped: dict[str, tuple[Job, ...]] = {}
    for job in jobs:
        grouped[job.name] = (*grouped.get(job.name, ()), job)
    return grouped
