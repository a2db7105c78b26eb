"""What happens next to a shard: a pure function from what is known to one action.

Promise: no input or output here. Work is submitted only when the scheduler has answered, no job of the shard is live,
the end of the last attempt is recorded, something is outstanding and no budget is spent. "Unknown" always means wait
(design, decision 7).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from reward_profiling.launch.ledger import Attempt, Ledger
from reward_profiling.scheduler.protocol import Job
from reward_profiling.sweep.status import ShardStatus


@dataclass(frozen=True)
class Budget:
    """How much a shard may cost before a person has to look: attempts in all, and in a row without a new row."""

    attempts: int = 100
    fruitless: int = 5


@dataclass(frozen=True)
class ShardState:
    """Everything that is known of one shard at one moment.

    `jobs` are the scheduler's jobs of the shard's name, live or ended; None when the scheduler did not answer.
    """

    status: ShardStatus
    ledger: Ledger
    jobs: Sequence[Job] | None


@dataclass(frozen=True)
class Wait:
    """Nothing to do now."""

    reason: str


@dataclass(frozen=True)
class Adopt:
    """A live job of this shard is not in the ledger: take it as the next attempt."""

    job: Job


@dataclass(frozen=True)
class Close:
    """The job of the open attempt has ended, or the scheduler's queue knows nothing of it any more (`job` None)."""

    attempt: Attempt
    job: Job | None


@dataclass(frozen=True)
class Submit:
    """Send the outstanding work as a new attempt."""


@dataclass(frozen=True)
class Finish:
    """Nothing is outstanding and nothing is live."""


@dataclass(frozen=True)
class Stop:
    """A budget is spent; a person has to look."""

    reason: str


Action = Wait | Adopt | Close | Submit | Finish | Stop


def decide(state: ShardState, budget: Budget) -> Action:
    """The one action that follows from `state`."""
    if state.jobs is None:
        return Wait("the scheduler did not answer; asking again")
    attempt = state.ledger.open_attempt
    if attempt is not None:
        job = next((job for job in state.jobs if job.id == attempt.job_id), None)
        return Wait(_waiting_for(job)) if job is not None and job.live else Close(attempt, job)
    unknown = _unknown_job(state.jobs, state.ledger)
    if unknown is not None:
        return Adopt(unknown)
    if state.status.complete:
        return Finish()
    reason = state.ledger.stopped or _spent(state.ledger, budget)
    return Stop(reason) if reason else Submit()


def _waiting_for(job: Job) -> str:
    text = f"job {job.id} is {job.state.value}"
    return f"{text} ({job.reason})" if job.reason and job.reason != "None" else text


def _unknown_job(jobs: Sequence[Job], ledger: Ledger) -> Job | None:
    """A job of this shard that the ledger does not know: a live one, or what came of an unanswered submission."""
    known = {attempt.job_id for attempt in ledger.attempts} | ledger.former_jobs
    unknown = [job for job in jobs if job.id not in known and (job.live or ledger.unanswered)]
    return next((job for job in unknown if job.live), unknown[-1] if unknown else None)


def _spent(ledger: Ledger, budget: Budget) -> str | None:
    if ledger.fruitless >= budget.fruitless:
        return f"{ledger.fruitless} attempts in a row brought no new row"
    if ledger.spent >= budget.attempts:
        return f"{ledger.spent} attempts are spent"
    return None
