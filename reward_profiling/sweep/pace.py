"""How fast a sweep goes, and when it will be done.

Promise: computed from what was seen at looks, for rows carry no time. Rates count gated rollouts, the ones that are
never dispatched again. An estimate that cannot know everything says `at_least`; where nothing is known there is none.

The estimate follows the slowest part, because that is what a sweep ends with. Each environment of each shard takes
what it has outstanding at its own rate: the slower of its rates over the last hour and over the last quarter of one,
since a rate falls when only long rollouts are left. Environments that have not begun are covered by the rate of their
shard as a whole. A shard takes as long as the slowest of these, a sweep as long as its slowest shard.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reward_profiling.sweep.status import Counts, Sample, ShardStatus

WINDOW_SECONDS = 3600.0
LATELY_SECONDS = 900.0
_SHORTEST_SECONDS = 30.0
"""No rate is told from looks that lie closer together."""


@dataclass(frozen=True)
class Pace:
    """`per_hour`: rollouts gated per hour over the last hour, or since the first look when that is later; None when
    that is not known. `seconds_left` until nothing is outstanding; None when nothing is known of what is. `at_least`:
    some of it has shown no rate, so it may take longer."""

    per_hour: float | None
    seconds_left: float | None
    at_least: bool = False


def label_pace(status: ShardStatus, label: str) -> Pace:
    """The pace of one environment in one shard."""
    counts = status.by_label.get(label, Counts())
    return _pace([_Step(sample.at, sample.gated.get(label, 0)) for sample in status.samples], counts.outstanding)


def shard_pace(status: ShardStatus) -> Pace:
    """The pace of one shard."""
    whole = _pace([_Step(sample.at, _all(sample)) for sample in status.samples], status.counts.outstanding)
    parts = [label_pace(status, label) for label in status.by_label]
    return Pace(whole.per_hour, _slowest((*parts, whole)), any(part.at_least for part in (*parts, whole)))


def together(paces: Iterable[Pace]) -> Pace:
    """The pace of parts that are collected side by side, such as the shards of a sweep."""
    parts = list(paces)
    rates = [part.per_hour for part in parts if part.per_hour is not None]
    return Pace(sum(rates) if rates else None, _slowest(parts), any(part.at_least for part in parts))


@dataclass(frozen=True)
class _Step:
    at: float
    gated: float


def _all(sample: Sample) -> int:
    return sum(sample.gated.values())


def _slowest(paces: Iterable[Pace]) -> float | None:
    return max((pace.seconds_left for pace in paces if pace.seconds_left is not None), default=None)


def _pace(steps: Sequence[_Step], outstanding: int) -> Pace:
    rate = _rate(steps, WINDOW_SECONDS)
    per_hour = None if rate is None else rate * 3600
    if not outstanding:
        return Pace(per_hour, 0.0)
    if not rate:
        return Pace(per_hour, None, at_least=True)
    lately = _rate(steps, LATELY_SECONDS)
    return Pace(per_hour, outstanding / min(rate, lately or rate), at_least=lately == 0)


def _rate(steps: Sequence[_Step], window: float) -> float | None:
    """Rollouts per second up to the last step, over `window` seconds or since the first rollout if that is later."""
    if not steps:
        return None
    end = steps[-1]
    start = _at(steps, end.at - window)
    if start.gated == 0 and end.gated:
        # What had not begun yet was not slow.
        start = next(step for step in (*reversed(steps), start) if step.gated == 0)
    seconds = end.at - start.at
    return None if seconds < _SHORTEST_SECONDS else max(end.gated - start.gated, 0) / seconds


def _at(steps: Sequence[_Step], moment: float) -> _Step:
    """What was gated at a moment, between looks in proportion; the first look when it is earlier than that."""
    before = steps[0]
    if moment <= before.at:
        return before
    for step in steps[1:]:
        if step.at >= moment:
            share = (moment - before.at) / (step.at - before.at)
            return _Step(moment, before.gated + share * (step.gated - before.gated))
        before = step
    return before
