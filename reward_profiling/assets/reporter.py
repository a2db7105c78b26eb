"""Telling Dagster of shards while they are watched: done at once, progress at intervals, what is left at the end.

Promise: a shard is reported as materialized when it was seen to be complete, and never otherwise.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from reward_profiling.assets import rollout_events
from reward_profiling.launch.decide import Finish, Stop
from reward_profiling.launch.watch import ShardView
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.layout import shard_name

OBSERVE_SECONDS = 60.0
_CURE = "look into the logs of their last attempts, then materialize these partitions again"


@dataclass
class Reporter:
    """Reports on the shards `numbers` of one run; `seen` holds the last view of each."""

    context: dg.AssetExecutionContext
    key: dg.AssetKey
    plan: Plan
    numbers: Sequence[int]
    seen: dict[int, ShardView] = field(default_factory=dict)
    _observed_at: float | None = None

    def report(self, views: Sequence[ShardView]) -> None:
        """Take one step's views."""
        now = time.monotonic()
        due = self._observed_at is None or now - self._observed_at >= OBSERVE_SECONDS
        if due:
            self._observed_at = now
        for view in views:
            self._log(view)
            self.seen[view.number] = view
        for view in views:
            if isinstance(view.action, Finish):
                # When nothing is left to wait for, the result of the run says it.
                if self._left():
                    self.context.log_event(rollout_events.materialization(self.key, self.plan, view.state))
            elif due or isinstance(view.action, Stop):
                self.context.log_event(rollout_events.observation(self.key, self.plan, view.state, view.action))

    def unfinished(self, reason: str = "") -> str:
        """Which shards are incomplete and why, in one line; empty when none is."""
        left = self._left()
        if not left:
            return ""
        text = f"{len(left)} of {len(self.numbers)} shards are incomplete: " + ", ".join(map(self._story, left))
        return f"{text}; {reason or _CURE}"

    def result(self) -> dg.MaterializeResult[Any]:
        """The result of a run whose shards are all complete. Without one, Dagster would skip what depends on it."""
        states = [self.seen[number].state for number in self.numbers]
        for state in states:
            metadata = rollout_events.metadata(self.plan, state)
            self.context.add_asset_metadata(metadata, partition_key=state.status.shard)
        version = rollout_events.data_version(self.plan, [state.status for state in states])
        return dg.MaterializeResult(data_version=dg.DataVersion(version))

    def _left(self) -> list[int]:
        return [number for number in self.numbers if not self._finished(number)]

    def _log(self, view: ShardView) -> None:
        """A line in the run's log whenever something else is being done about a shard."""
        before = self.seen.get(view.number)
        if before is None or before.action != view.action:
            counts = view.state.status.counts
            self.context.log.info(
                f"{view.name}: {rollout_events.words(view.action)} ({counts.gated} of {counts.expected} rollouts done)"
            )

    def _finished(self, number: int) -> bool:
        return number in self.seen and isinstance(self.seen[number].action, Finish)

    def _story(self, number: int) -> str:
        view = self.seen.get(number)
        if view is None:
            return shard_name(number)
        counts, attempts = view.state.status.counts, view.state.ledger.attempts
        story = f"{counts.outstanding} of {counts.expected} rollouts outstanding, {rollout_events.words(view.action)}"
        if attempts and attempts[-1].reason:
            story += f"; attempt {attempts[-1].number} ended as {attempts[-1].state}: {attempts[-1].reason}"
        return f"{view.name} ({story})"
