"""The table of decisions: what is known of a shard, and the one action that follows."""

from dataclasses import replace

import pytest

from reward_profiling.launch.decide import Action, Adopt, Budget, Close, Finish, ShardState, Stop, Submit, Wait, decide
from reward_profiling.launch.ledger import Attempt, Ledger
from reward_profiling.scheduler.protocol import Job, JobState
from reward_profiling.sweep.status import Counts, ShardStatus

BUDGET = Budget(attempts=4, fruitless=2)
OPEN = Attempt(1, "7", "rp.x", "slurm", 0.0, outstanding_before=5, rows_before=0)
FRUITFUL = replace(OPEN, ended_at=1.0, state="FAILED", reason="", outstanding_after=4, rows_after=1)
FRUITLESS = replace(FRUITFUL, rows_after=0)


def job(state: JobState, job_id: str = "7", reason: str = "") -> Job:
    return Job(id=job_id, name="rp.x", state=state, reason=reason)


def state(outstanding: int, ledger: Ledger, *jobs: Job, answered: bool = True) -> ShardState:
    counts = Counts(expected=5, succeeded=5 - outstanding, outstanding=outstanding)
    return ShardState(ShardStatus("shard_000", counts, {"a": counts}), ledger, jobs if answered else None)


def ended(*attempts: Attempt, **changes: object) -> Ledger:
    numbered = tuple(replace(each, number=n, job_id=str(n)) for n, each in enumerate(attempts, start=1))
    return replace(Ledger(numbered, last_number=len(numbered)), **changes)


RUNNING = Ledger((OPEN,), last_number=1)
INTENT = Ledger((), last_number=1, unanswered=True)

CASES: dict[str, tuple[ShardState, Action]] = {
    "fresh": (state(5, Ledger()), Submit()),
    "fresh and empty": (state(0, Ledger()), Finish()),
    "no answer": (state(5, Ledger(), answered=False), Wait("the scheduler did not answer; asking again")),
    "no answer while complete": (state(0, RUNNING, answered=False), Wait("the scheduler did not answer; asking again")),
    "running": (state(5, RUNNING, job(JobState.RUNNING)), Wait("job 7 is RUNNING")),
    "pending": (state(5, RUNNING, job(JobState.PENDING, reason="Priority")), Wait("job 7 is PENDING (Priority)")),
    "complete but live": (state(0, RUNNING, job(JobState.RUNNING)), Wait("job 7 is RUNNING")),
    "completing is live": (state(0, RUNNING, job(JobState.COMPLETING)), Wait("job 7 is COMPLETING")),
    "ended": (state(3, RUNNING, job(JobState.NODE_FAIL)), Close(OPEN, job(JobState.NODE_FAIL))),
    "ended and complete": (state(0, RUNNING, job(JobState.COMPLETED)), Close(OPEN, job(JobState.COMPLETED))),
    "purged": (state(3, RUNNING), Close(OPEN, None)),
    "closed with work left": (state(3, ended(FRUITFUL)), Submit()),
    "closed and complete": (state(0, ended(FRUITFUL)), Finish()),
    "old job of a closed attempt": (state(3, ended(FRUITFUL), job(JobState.FAILED, "1")), Submit()),
    "a stranger's live job": (state(3, Ledger(), job(JobState.RUNNING)), Adopt(job(JobState.RUNNING))),
    "a stranger's ended job": (state(3, Ledger(), job(JobState.FAILED)), Submit()),
    "lost answer, job live": (state(3, INTENT, job(JobState.PENDING)), Adopt(job(JobState.PENDING))),
    "lost answer, job ended already": (state(3, INTENT, job(JobState.FAILED)), Adopt(job(JobState.FAILED))),
    "lost answer, never arrived": (state(3, INTENT), Submit()),
    "live wins over ended": (
        state(3, INTENT, job(JobState.FAILED, "8"), job(JobState.RUNNING, "9")),
        Adopt(job(JobState.RUNNING, "9")),
    ),
    "no progress": (
        state(3, ended(FRUITFUL, FRUITLESS, FRUITLESS)),
        Stop("2 attempts in a row brought no new row"),
    ),
    "progress in between": (state(3, ended(FRUITLESS, FRUITFUL, FRUITLESS)), Submit()),
    "all attempts spent": (state(3, ended(*[FRUITFUL] * 4)), Stop("4 attempts are spent")),
    "all attempts spent, then released": (state(3, ended(*[FRUITFUL] * 4, released_after=4)), Submit()),
    "complete with a spent budget": (state(0, ended(FRUITLESS, FRUITLESS)), Finish()),
    "stopped before": (state(3, ended(FRUITFUL, stopped="by hand")), Stop("by hand")),
    "released": (state(3, ended(FRUITLESS, FRUITLESS, released_after=2)), Submit()),
}


@pytest.mark.parametrize("case", CASES)
def test_decisions(case: str) -> None:
    given, expected = CASES[case]
    assert decide(given, BUDGET) == expected
