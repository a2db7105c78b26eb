"""The attempts ledger: one line per submission and per ending of one shard's job.

Promise: append-only and durable; an intent is written before the scheduler is asked, so a crash between the two leaves
a trace and never a second job. What is read back is the same whoever wrote it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from reward_profiling.files import append_json_line, read_json_lines
from reward_profiling.sweep.layout import ShardDir


class Event(StrEnum):
    """What a ledger line says."""

    SUBMITTING = "submitting"
    SUBMITTED = "submitted"
    ADOPTED = "adopted"
    REFUSED = "refused"
    ENDED = "ended"
    STOPPED = "stopped"
    RELEASED = "released"
    RESHARDED = "resharded"


@dataclass(frozen=True)
class Attempt:
    """One attempt at a shard. Counts are rollouts (`outstanding`) and rows of both files (`rows`) before and after;
    `state` and the rest stay None until its end is recorded."""

    number: int
    job_id: str
    job_name: str
    scheduler: str
    submitted_at: float
    outstanding_before: int
    rows_before: int
    ended_at: float | None = None
    state: str | None = None
    reason: str | None = None
    outstanding_after: int | None = None
    rows_after: int | None = None
    nodes: tuple[str, ...] = ()

    @property
    def open(self) -> bool:
        return self.state is None

    @property
    def fruitless(self) -> bool:
        """It ended without a single new row."""
        return self.rows_after is not None and self.rows_after <= self.rows_before


@dataclass(frozen=True)
class Ledger:
    """All attempts of a shard, oldest first.

    `last_number` is the highest number given out, also to intents that never became a job; `unanswered` is True when
    the latest intent has neither become a job nor been refused: the scheduler may have taken it. `stopped` is the
    reason for which the shard was given up, None while it is not. `former_jobs` are the ids of jobs that collected for
    an earlier layout of the sweep, whose names may be this shard's. `at_rest_at` is when nothing ran on the shard for
    certain: the last ending, or the reshard that made it (Unix seconds).
    """

    attempts: tuple[Attempt, ...] = ()
    last_number: int = 0
    unanswered: bool = False
    stopped: str | None = None
    released_after: int = 0
    former_jobs: frozenset[str] = frozenset()
    at_rest_at: float = 0.0

    @property
    def next_number(self) -> int:
        """The number of the next attempt: the unanswered one's when a job of it turned up, else a new one."""
        return self.last_number if self.unanswered else self.last_number + 1

    @property
    def open_attempt(self) -> Attempt | None:
        """The latest attempt, when its end is not recorded yet."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].open else None

    @property
    def spent(self) -> int:
        """Attempts since the latest release."""
        return sum(attempt.number > self.released_after for attempt in self.attempts)

    @property
    def fruitless(self) -> int:
        """Ended attempts in a row, up to the latest, without a new row; a release starts the count anew."""
        streak = 0
        for attempt in reversed(self.attempts):
            if attempt.open:
                continue
            if not attempt.fruitless or attempt.number <= self.released_after:
                break
            streak += 1
        return streak


def read_ledger(shard: ShardDir) -> Ledger:
    """The ledger of `shard`; empty when nothing was ever submitted."""
    return _fold(read_json_lines(shard.attempts))


def _fold(records: Iterable[dict[str, Any]]) -> Ledger:
    attempts: dict[int, Attempt] = {}
    last_number = released_after = 0
    unanswered = False
    stopped: str | None = None
    former_jobs: frozenset[str] = frozenset()
    at_rest_at = 0.0
    for record in records:
        event, number = record["event"], record.get("attempt", 0)
        last_number = max(last_number, number)
        if event == Event.SUBMITTING:
            unanswered = True
        elif event in (Event.SUBMITTED, Event.ADOPTED):
            unanswered = False
            attempts[number] = Attempt(
                number=number,
                job_id=record["job_id"],
                job_name=record["job_name"],
                scheduler=record["scheduler"],
                submitted_at=record["at"],
                outstanding_before=record["outstanding"],
                rows_before=record["rows"],
            )
        elif event == Event.ENDED and number in attempts and attempts[number].open:
            attempts[number] = _ended(attempts[number], record)
            at_rest_at = record["at"]
        elif event == Event.REFUSED:
            unanswered = False
        elif event == Event.STOPPED:
            stopped = record["reason"]
        elif event == Event.RELEASED:
            stopped, released_after = None, last_number
        elif event == Event.RESHARDED:
            released_after, former_jobs, at_rest_at = last_number, frozenset(record["jobs"]), record["at"]
    return Ledger(
        tuple(attempts[number] for number in sorted(attempts)),
        last_number,
        unanswered,
        stopped,
        released_after,
        former_jobs,
        at_rest_at,
    )


def _ended(attempt: Attempt, record: dict[str, Any]) -> Attempt:
    return replace(
        attempt,
        ended_at=record["at"],
        state=record["state"],
        reason=record["reason"],
        outstanding_after=record["outstanding"],
        rows_after=record["rows"],
        nodes=tuple(record["nodes"]),
    )


def record(shard: ShardDir, event: Event, at: float, **values: Any) -> None:
    """Append one line; `at` in Unix seconds."""
    append_json_line(shard.attempts, {"event": event.value, "at": at, **values})
