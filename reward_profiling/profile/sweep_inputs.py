"""What the profile of a sweep is made from.

Promise: data only. Counts and rollouts of a shard come from one look at it, so that they agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from reward_profiling.sweep.status import Counts

TASK_COLUMNS = {
    "task_index": pl.Int64(),
    "label": pl.String(),
    "source": pl.String(),
    "source_row": pl.Int64(),
    "content_hash": pl.String(),
    "repeats": pl.Int64(),
    "shard": pl.Int64(),
}
"""The task table as a profile needs it: one row per task; `shard` is the number of the shard that collects it, or null
when its repeats are dealt over several."""

RECORD_COLUMNS = {"task_index": pl.Int64(), "rollout_index": pl.Int64(), "numbers": pl.Binary()}
"""One row per collected rollout; `numbers` is `sweep.numbers.numeric_record` of its row."""


@dataclass(frozen=True)
class Environment:
    """One entry of the manifest: its label and the reward from which a rollout passes."""

    label: str
    pass_threshold: float


@dataclass(frozen=True)
class CollectedShard:
    """One look at one shard: its counts by label, its rollouts (`RECORD_COLUMNS` at least, every key once).

    Rollouts whose key is not in the task table are passed over, as they are in the counts. `simulated` is True when
    any row was made by the collector stand-in.
    """

    by_label: Mapping[str, Counts]
    rollouts: pl.DataFrame
    simulated: bool


@dataclass(frozen=True)
class Stamp:
    """What every table of one profile says about its origin.

    `profiled_at` is UTC, like 2026-01-31T12:00:00Z. `mixed` names what changed about the meaning of rollouts while they
    were collected, empty for nothing: such a profile puts side by side what was not made alike.
    """

    nickname: str
    manifest_digest: str
    profiled_at: str
    mixed: str = ""
