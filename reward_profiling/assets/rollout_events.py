"""What Dagster is told of a shard's rollouts: done, or how far it is.

Promise: pure functions of what was seen; whoever reports a shard (a run or the sensor) says the same of it.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import dagster as dg

from reward_profiling.assets.tables import counts_table, markdown
from reward_profiling.launch.decide import Action, Adopt, Close, Finish, ShardState, Stop, Submit, Wait
from reward_profiling.launch.ledger import Ledger
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.status import ShardStatus


def materialization(key: dg.AssetKey, plan: Plan, state: ShardState) -> dg.AssetMaterialization:
    """A shard has nothing outstanding."""
    return dg.AssetMaterialization(
        asset_key=key,
        partition=state.status.shard,
        description=progress(state.status),
        metadata=metadata(plan, state),
        tags={"dagster/data_version": data_version(plan, [state.status])},
    )


def observation(key: dg.AssetKey, plan: Plan, state: ShardState, action: Action) -> dg.AssetObservation:
    """How far a shard is, and what is being done about it."""
    return dg.AssetObservation(
        asset_key=key,
        partition=state.status.shard,
        description=f"{progress(state.status)}; {words(action)}",
        metadata=metadata(plan, state),
    )


def progress(status: ShardStatus) -> str:
    """How far a shard is, in a few words."""
    counts = status.counts
    text = f"{counts.gated} of {counts.expected} rollouts done"
    if counts.failed_total:
        text += f", {counts.failed_total} of them without a result"
    return f"{text} (simulated)" if status.simulated else text


def words(action: Action) -> str:
    """What is done about a shard, in a few words."""
    match action:
        case Submit():
            return "submitting what is outstanding"
        case Adopt(job):
            return f"adopting job {job.id}"
        case Close(attempt):
            return f"job {attempt.job_id} has ended"
        case Finish():
            return "complete"
        case Stop(reason):
            return f"given up: {reason}"
        case Wait(reason):
            return reason


def metadata(plan: Plan, state: ShardState) -> dict[str, Any]:
    """The counts of a shard, its attempts, and where everything lies."""
    status, ledger = state.status, state.ledger
    counts, shard = status.counts, ShardDir(plan.sweep.shards / status.shard)
    return {
        "dagster/row_count": counts.succeeded,
        "state": progress(status),
        "expected": counts.expected,
        "succeeded": counts.succeeded,
        "masked": counts.masked,
        "failed": counts.failed_total,
        "outstanding": counts.outstanding,
        "environments": counts_table("environment", status.by_label),
        "failures_by_class": markdown(("class", "rollouts"), sorted(counts.failed.items())),
        "left_out": f"{status.duplicates} duplicate, {status.foreign} foreign, {status.broken} broken rows",
        "simulated": status.simulated,
        "attempts": _attempts(ledger),
        "job_ids": ", ".join(attempt.job_id for attempt in ledger.attempts),
        "manifest_digest": plan.report.manifest_digest,
        "rollouts": dg.MetadataValue.path(shard.rollouts),
        "failures": dg.MetadataValue.path(shard.failures),
        "logs": dg.MetadataValue.path(shard.logs),
    }


def _attempts(ledger: Ledger) -> dg.MarkdownMetadataValue:
    rows = (
        (
            attempt.number,
            attempt.job_id,
            attempt.state or "open",
            attempt.outstanding_before,
            attempt.outstanding_after,
            attempt.reason,
        )
        for attempt in ledger.attempts
    )
    return markdown(("attempt", "job", "state", "outstanding before", "after", "reason"), rows)


def data_version(plan: Plan, statuses: Sequence[ShardStatus]) -> str:
    """A digest that changes whenever a row is added to one of the shards."""
    # Gym's files only grow, so their size stands for their content.
    seen = [(status.shard, status.rows, status.bytes_collected) for status in statuses]
    return blake2b(repr((plan.report.tasks_digest, seen)).encode(), digest_size=16).hexdigest()
