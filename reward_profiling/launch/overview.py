"""How far a whole sweep is: every shard, every environment, and the sums, from the files and the ledgers alone.

Promise: asks no scheduler and changes nothing but the index; the sums of shards and of environments agree.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from reward_profiling.launch.ledger import Ledger, read_ledger
from reward_profiling.sweep.completeness import Plan, look
from reward_profiling.sweep.pace import Pace, label_pace, shard_pace, together
from reward_profiling.sweep.status import Counts, ShardStatus, total

Phase = Literal["complete", "submitted", "stopped", "to do"]


@dataclass(frozen=True)
class ShardOverview:
    """One shard: what its files and its ledger say."""

    status: ShardStatus
    ledger: Ledger

    @property
    def phase(self) -> Phase:
        """`submitted` means that the end of its last attempt has not been recorded yet."""
        if self.status.complete:
            return "complete"
        if self.ledger.open_attempt is not None:
            return "submitted"
        return "stopped" if self.ledger.stopped else "to do"


@dataclass(frozen=True)
class SweepOverview:
    """All shards of a sweep at one moment."""

    plan: Plan
    shards: tuple[ShardOverview, ...]

    @property
    def counts(self) -> Counts:
        return total(shard.status.counts for shard in self.shards)

    @property
    def by_label(self) -> Mapping[str, Counts]:
        """Counts per environment, in manifest order."""
        return {
            entry.label: total(shard.status.by_label.get(entry.label, Counts()) for shard in self.shards)
            for entry in self.plan.report.entries
        }

    @property
    def pace(self) -> Pace:
        """How fast the sweep goes and when it will be done (see `sweep.pace`)."""
        return together(shard_pace(shard.status) for shard in self.shards)

    def pace_of(self, label: str) -> Pace:
        """How fast one environment goes, over all shards."""
        return together(label_pace(shard.status, label) for shard in self.shards)

    @property
    def last_row_at(self) -> float | None:
        """The time (Unix seconds) of the newest row of any shard, None before the first."""
        times = (shard.status.last_row_at for shard in self.shards)
        return max((moment for moment in times if moment is not None), default=None)

    @property
    def complete(self) -> bool:
        return self.counts.complete

    @property
    def simulated(self) -> bool:
        """Whether any row was made by the collector stand-in."""
        return any(shard.status.simulated for shard in self.shards)


def overview(plan: Plan) -> SweepOverview:
    """Look at every shard of a sweep."""
    return SweepOverview(
        plan,
        tuple(
            ShardOverview(look(plan, number), read_ledger(plan.sweep.shard(number)))
            for number in range(plan.report.num_shards)
        ),
    )


def counts_document(counts: Counts) -> dict[str, Any]:
    """Counts as JSON: expected = succeeded + all failed + outstanding; masked rollouts are among the succeeded."""
    return {
        "expected": counts.expected,
        "succeeded": counts.succeeded,
        "masked": counts.masked,
        "failed": dict(counts.failed),
        "outstanding": counts.outstanding,
        "complete": counts.complete,
    }


def pace_document(pace: Pace) -> dict[str, Any]:
    """A pace as JSON: rollouts per hour, seconds left, and whether it may be more; null where nothing is known."""
    return {
        "rate_per_hour": None if pace.per_hour is None else round(pace.per_hour, 1),
        "eta_seconds": None if pace.seconds_left is None else round(pace.seconds_left),
        "eta_at_least": pace.at_least,
    }


def document(found: SweepOverview) -> dict[str, Any]:
    """The overview as JSON, as `reward-profiling status --json` prints it."""
    report = found.plan.report
    return {
        "sweep": report.nickname,
        "path": str(found.plan.sweep.path),
        "manifest_digest": report.manifest_digest,
        "simulated": found.simulated,
        **counts_document(found.counts),
        **pace_document(found.pace),
        "last_row_at": _utc(found.last_row_at),
        "environments": [
            {"label": label, **counts_document(counts), **pace_document(found.pace_of(label))}
            for label, counts in found.by_label.items()
        ],
        "shards": [_shard_document(shard) for shard in found.shards],
    }


def _shard_document(shard: ShardOverview) -> dict[str, Any]:
    status, attempts = shard.status, shard.ledger.attempts
    return {
        "shard": status.shard,
        "phase": shard.phase,
        **counts_document(status.counts),
        **pace_document(shard_pace(status)),
        "duplicates": status.duplicates,
        "foreign": status.foreign,
        "broken": status.broken,
        "last_row_at": _utc(status.last_row_at),
        "attempts": len(attempts),
        "job_id": attempts[-1].job_id if attempts else None,
        "last_state": attempts[-1].state if attempts else None,
        "last_reason": shard.ledger.stopped or (attempts[-1].reason if attempts else None),
    }


def _utc(moment: float | None) -> str | None:
    return None if moment is None else datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat()
