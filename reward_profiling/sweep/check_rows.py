"""Is everything that was collected where it belongs, once, and does the index say what the files say?"""

from dataclasses import dataclass

import polars as pl

from reward_profiling.sweep.completeness import Plan, count, judge
from reward_profiling.sweep.deal import keys_of
from reward_profiling.sweep.findings import Check, some
from reward_profiling.sweep.index_state import IndexState
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.peek import peek
from reward_profiling.sweep.rollout_index import RolloutIndex
from reward_profiling.sweep.scan import Scan, scan
from reward_profiling.sweep.status import Counts, total

_KEY = ["task_index", "rollout_index"]
_DIGEST = [*_KEY, "digest"]


@dataclass(frozen=True)
class Collected:
    """The checks, and what was found in all shards: keys and digests of rollouts and of failed attempts."""

    checks: tuple[Check, ...]
    rollouts: pl.DataFrame
    failures: pl.DataFrame


def check_rows(plan: Plan) -> Collected:
    """Read both files of every shard from scratch."""
    rollouts = Check("rollouts", "each lies once, as a whole line, in the shard that owns its key")
    failures = Check("failures", "each failed attempt lies in the shard that owns its key")
    index = Check("index", "the index says what the files say, as far as it has read them")
    counts = Check("counts", "expected = succeeded + failed + outstanding, for every label and in all")
    found: list[tuple[pl.DataFrame, pl.DataFrame]] = []
    parts: list[dict[str, Counts]] = []
    for number in range(plan.report.num_shards):
        shard, keys = plan.sweep.shard(number), keys_of(plan.shard_tasks(number))
        collected, failed = scan(shard.rollouts), scan(shard.failures)
        _check_own(rollouts, shard.rollouts, collected, keys)
        unique = collected.rows.unique(_KEY, keep="first", maintain_order=True)
        repeated = collected.rows.height - unique.height
        if repeated:
            rollouts.find(shard.rollouts, f"{repeated} rows have a key that is there already")
        if collected.unkeyed:
            rollouts.find(shard.rollouts, f"{collected.unkeyed} rows have no key")
        _check_own(failures, shard.failures, failed, keys)
        _check_index(index, shard, collected, failed)
        parts.append(count(judge(keys, _as_index(unique, failed.rows), plan.rule)))
        found.append((collected.rows.select(_DIGEST), failed.rows.select(_DIGEST)))
    _check_counts(counts, plan, parts)
    return Collected(
        (rollouts, failures, index, counts), pl.concat(each for each, _ in found), pl.concat(each for _, each in found)
    )


def _check_own(made: Check, place: object, found: Scan, keys: pl.DataFrame) -> None:
    made.look(found.rows.height)
    foreign = found.rows.join(keys, on=_KEY, how="anti")
    if foreign.height:
        names = some((f"{task}:{rollout}" for task, rollout in foreign.select(_KEY).iter_rows()), foreign.height)
        made.find(place, f"{foreign.height} rows are of other shards or of no task: {names}")
    if found.broken:
        made.find(place, f"{found.broken} lines hold no row")


def _check_index(made: Check, shard: ShardDir, collected: Scan, failed: Scan) -> None:
    index = peek(shard)
    if index is None:
        return
    made.look(index.rollouts.height + index.failures.height)
    for path, found, indexed, read_to in (
        (shard.rollouts, collected, index.rollouts, index.state.rollouts.read_to),
        (shard.failures, failed, index.failures, index.state.failures.read_to),
    ):
        expected = found.rows.filter(pl.col("offset") < read_to).select(indexed.columns)
        if not indexed.equals(expected):
            made.find(shard.index, f"it says something else than the first {read_to} bytes of {path.name}")


def _as_index(rollouts: pl.DataFrame, failures: pl.DataFrame) -> RolloutIndex:
    """A scan, as `judge` takes it."""
    return RolloutIndex(rollouts, failures, IndexState(), duplicates=0, last_row_at=None)


def _check_counts(made: Check, plan: Plan, parts: list[dict[str, Counts]]) -> None:
    for entry in plan.report.entries:
        counts = total(part.get(entry.label, Counts()) for part in parts)
        made.expect(
            counts.expected == counts.succeeded + counts.failed_total + counts.outstanding,
            entry.label,
            f"{counts.expected} expected are not {counts.succeeded} + {counts.failed_total} + {counts.outstanding}",
        )
        made.expect(counts.expected == entry.rollouts, entry.label, f"{counts.expected} expected, not {entry.rollouts}")
