"""How far a shard is, as counts that always add up (design, decision 8).

Promise: data only. `expected == succeeded + failed_total + outstanding` holds for every `Counts` that
`completeness.look` returns; `masked` is a part of `succeeded`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Counts:
    """Rollouts of one shard, label or sweep.

    `failed` counts gated rollouts without a result by the class of their last failed attempt; a rollout that
    succeeded after failures counts as succeeded only.
    """

    expected: int = 0
    succeeded: int = 0
    masked: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    outstanding: int = 0

    @property
    def failed_total(self) -> int:
        return sum(self.failed.values())

    @property
    def gated(self) -> int:
        return self.succeeded + self.failed_total

    @property
    def complete(self) -> bool:
        """Nothing is left that Gym would dispatch."""
        return self.outstanding == 0


def total(parts: Iterable[Counts]) -> Counts:
    """The sum of several counts."""
    failed: dict[str, int] = {}
    expected = succeeded = masked = outstanding = 0
    for part in parts:
        expected += part.expected
        succeeded += part.succeeded
        masked += part.masked
        outstanding += part.outstanding
        for kind, count in part.failed.items():
            failed[kind] = failed.get(kind, 0) + count
    return Counts(expected, succeeded, masked, failed, outstanding)


@dataclass(frozen=True)
class Sample:
    """How many rollouts of each label were gated at a moment (Unix seconds)."""

    at: float
    gated: Mapping[str, int]


@dataclass(frozen=True)
class ShardStatus:
    """One look at one shard.

    `duplicates`, `foreign` (keys that are not this shard's) and `broken` (no JSON row) count lines that are left out of
    the counts. `simulated` is True when any row was made by the collector stand-in. `rows` counts the rows in both
    files, failed attempts included, and `bytes_collected` their size. `last_row_at` is the time (Unix seconds) of the
    newest row, None before the first. `samples` are earlier looks, oldest first, and this one (see `pace`).
    """

    shard: str
    counts: Counts
    by_label: Mapping[str, Counts]
    duplicates: int = 0
    foreign: int = 0
    broken: int = 0
    simulated: bool = False
    rows: int = 0
    bytes_collected: int = 0
    last_row_at: float | None = None
    samples: tuple[Sample, ...] = ()

    @property
    def complete(self) -> bool:
        return self.counts.complete
