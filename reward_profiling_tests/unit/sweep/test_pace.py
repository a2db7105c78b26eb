"""Rates and estimates are what the looks say, the slowest part decides, and what is not known is not made up."""

import pytest

from reward_profiling.sweep.pace import Pace, label_pace, shard_pace, together
from reward_profiling.sweep.status import Counts, Sample, ShardStatus, total

MINUTE = 60.0


def _status(outstanding: dict[str, int], *looks: tuple[float, dict[str, int]]) -> ShardStatus:
    """Looks are minutes and what each label had gated by then."""
    _, gated = looks[-1]
    counts = {
        label: Counts(expected=owed + gated.get(label, 0), succeeded=gated.get(label, 0), outstanding=owed)
        for label, owed in outstanding.items()
    }
    samples = tuple(Sample(minute * MINUTE, made) for minute, made in looks)
    return ShardStatus("shard_000", total(counts.values()), counts, samples=samples)


def test_the_rate_is_that_of_the_last_hour() -> None:
    status = _status({"a": 300}, (0, {"a": 1000}), (60, {"a": 4000}), (120, {"a": 4600}))
    assert label_pace(status, "a") == Pace(600, 1800)
    assert shard_pace(status) == Pace(600, 1800)


def test_between_looks_the_rate_is_even() -> None:
    # An hour ago lies halfway between the first two looks.
    status = _status({"a": 100}, (0, {"a": 100}), (120, {"a": 300}), (120 + 10, {"a": 310}))
    assert label_pace(status, "a").per_hour == pytest.approx(310 - (100 + 200 * 70 / 120))


def test_one_look_tells_no_rate() -> None:
    assert shard_pace(_status({"a": 5}, (0, {"a": 3}))) == Pace(None, None, at_least=True)
    assert shard_pace(_status({"a": 5}, (0, {"a": 3}), (0.1, {"a": 4}))) == Pace(None, None, at_least=True)


def test_a_standstill_has_a_rate_and_no_estimate() -> None:
    assert shard_pace(_status({"a": 5}, (0, {"a": 3}), (90, {"a": 3}))) == Pace(0, None, at_least=True)


def test_what_is_complete_needs_no_time_and_no_rate() -> None:
    assert shard_pace(_status({"a": 0}, (0, {"a": 3}), (90, {"a": 3}))) == Pace(0, 0)


def test_the_slow_tail_decides() -> None:
    status = _status({"quick": 10, "slow": 20}, (0, {"quick": 5, "slow": 5}), (60, {"quick": 1005, "slow": 15}))
    assert label_pace(status, "quick").seconds_left == pytest.approx(36)
    assert shard_pace(status) == Pace(1010, 7200)


def test_a_rate_that_falls_lengthens_the_estimate_at_once() -> None:
    falling = _status({"a": 30}, (0, {"a": 10}), (45, {"a": 910}), (60, {"a": 920}))
    assert label_pace(falling, "a").per_hour == 910
    assert label_pace(falling, "a").seconds_left == pytest.approx(30 / 10 * 15 * MINUTE)
    stalled = _status({"a": 30}, (0, {"a": 10}), (45, {"a": 910}), (60, {"a": 910}))
    assert label_pace(stalled, "a").at_least


def test_what_has_just_begun_is_not_taken_for_slow() -> None:
    status = _status({"first": 0, "then": 100}, (0, {"first": 9}), (50, {"first": 99}), (60, {"first": 99, "then": 50}))
    assert label_pace(status, "then") == Pace(300, 1200)


def test_what_has_not_begun_makes_the_estimate_a_least_one() -> None:
    status = _status({"now": 100, "later": 500}, (0, {"now": 100}), (60, {"now": 300}))
    assert label_pace(status, "later") == Pace(0, None, at_least=True)
    # At the pace of the whole shard: 600 outstanding, 200 an hour.
    assert shard_pace(status) == Pace(200, 3 * 3600, at_least=True)


def test_a_sweep_takes_as_long_as_its_slowest_shard() -> None:
    assert together([Pace(10, 60), Pace(None, None, at_least=True), Pace(5, 600)]) == Pace(15, 600, at_least=True)
    assert together([]) == Pace(None, None)


def test_rollouts_that_were_taken_out_are_no_negative_rate() -> None:
    assert label_pace(_status({"a": 5}, (0, {"a": 9}), (60, {"a": 7})), "a") == Pace(0, None, at_least=True)
