"""The repeat file, the across-repeats block and coverage (Gym contract 6.6 to 6.8)."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reward_profiling.profile.intervals import estimate_mean
from reward_profiling_tests.unit.profile.rows import Profile, profile_values, result, work


def test_a_single_repeat_has_no_repeat_rows(tmp_path: Path) -> None:
    profile = profile_values(tmp_path, [{"reward": 1.0}], [{"reward": 0.0}])
    assert profile.repeats == []
    assert not any("across_repeats" in key for key in profile.agents[0])


def test_repeat_rows_count_tasks_and_describe_columns_in_alphabetical_order(tmp_path: Path) -> None:
    profile = profile_values(tmp_path, [{"z": 1.0, "a": 1}, {"z": 3.0}], [{"z": 2.0, "a": 2}], [{"z": 6.0, "b": 1}])
    first, second = profile.repeats
    assert list(first)[:4] == ["agent_ref", "_ng_rollout_index", "sample_count", "missing_count"]
    assert (first["sample_count"], first["missing_count"]) == (3, 0)
    assert (second["sample_count"], second["missing_count"]) == (1, 2)
    assert [key for key in first if key.startswith("mean/")] == ["mean/a", "mean/b", "mean/z"]
    assert [key for key in second if key.startswith(("mean/", "ci_", "std/", "sem/"))] == ["mean/z", "std/z", "sem/z"]
    assert (second["std/z"], second["sem/z"]) == (0.0, 0.0)
    assert (first["p25/z"], first["median/z"], first["p75/z"]) == (1.5, 2.0, 4.0)
    assert isinstance(first["max/a"], float)


def test_missing_counts_take_in_masked_and_missing_rollouts(tmp_path: Path) -> None:
    inputs = [work(task, rollout) for task in range(3) for rollout in range(2)]
    results = [result(0, 0), result(0, 1), result(1, 0), result(1, 1, mask_sample=True), result(2, 0)]
    assert [row["missing_count"] for row in Profile(tmp_path, inputs, results).repeats] == [0, 2]


def test_the_interval_is_students(tmp_path: Path) -> None:
    values = [0.0, 1.0, 4.0, 9.5]
    row = profile_values(tmp_path, *[[{"v": value}, {"v": 1.0}] for value in values]).repeats[0]
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert row["sem/v"] == pytest.approx(stats.sem(values), rel=1e-12)
    assert (row["ci_low_95/v"], row["ci_high_95/v"]) == pytest.approx((low, high), rel=1e-12)


def test_the_interval_of_equal_values_is_their_mean() -> None:
    estimate = estimate_mean(np.array([2.0, 2.0]))
    assert (estimate.std, estimate.low, estimate.high) == (0.0, 2.0, 2.0)


def test_one_value_has_no_interval() -> None:
    estimate = estimate_mean(np.array([2.0]))
    assert (estimate.std, estimate.standard_error, estimate.low, estimate.high) == (0.0, 0.0, None, None)


def test_across_repeats_observes_the_mean_of_each_repeat(tmp_path: Path) -> None:
    agent = profile_values(tmp_path, [{"reward": 1.0}, {"reward": 0.0}], [{"reward": 1.0}, {"reward": 1.0}]).agents[0]
    tail = "_across_repeats/mean/reward"
    assert [key.removesuffix(tail) for key in agent if key.endswith(tail)] == [
        *("mean", "median", "std", "min", "max", "se", "ci_low_95", "ci_high_95")
    ]
    assert (agent[f"mean{tail}"], agent[f"min{tail}"], agent[f"max{tail}"]) == (0.75, 0.5, 1.0)
    assert agent[f"se{tail}"] == pytest.approx(math.sqrt(0.125) / math.sqrt(2))


def test_a_column_in_one_repeat_only_has_no_interval_across(tmp_path: Path) -> None:
    agent = profile_values(tmp_path, [{"v": 1.0}, {"r": 1.0}]).agents[0]
    assert agent["std_across_repeats/mean/v"] == 0.0
    assert "ci_low_95_across_repeats/mean/v" not in agent


@pytest.mark.parametrize("name", ["max", "x/median", "p25", "foo_ci_lower", "a_ci95_upper", "std_dev_across_runs"])
def test_columns_named_like_statistics_stay_out_of_the_across_block_only(tmp_path: Path, name: str) -> None:
    profile = profile_values(tmp_path, [{name: 1.0}, {name: 2.0}])
    assert not any("across_repeats" in key for key in profile.agents[0])
    assert all(f"mean/{name}" in row for row in (profile.groups[0], profile.agents[0], profile.repeats[0]))


def test_across_columns_stand_in_the_order_of_the_repeat_rows_of_all_labels(tmp_path: Path) -> None:
    inputs = [work(task, rollout, agent) for task, agent in enumerate("ab") for rollout in range(2)]
    results = [result(0, 0, b=1.0), result(0, 1, a=1.0), result(1, 0, a=1.0, b=1.0), result(1, 1, a=1.0, b=1.0)]
    for agent in Profile(tmp_path, inputs, results).agents:
        assert [key[-1] for key in agent if key.startswith("mean_across")] == ["b", "a"]


def test_coverage_is_told_of_agents_with_masked_rollouts_only(tmp_path: Path) -> None:
    inputs = [work(task, rollout, "ab"[task > 1]) for task in range(3) for rollout in range(2)]
    results = [result(row["_ng_task_index"], row["_ng_rollout_index"], reward=1.0) for row in inputs]
    for place in (0, 2, 3):
        results[place]["mask_sample"] = True
    first, second = Profile(tmp_path, inputs, results).agents
    assert {key: value for key, value in first.items() if key.startswith("coverage/")} == {
        "coverage/measured_rollouts": 1,
        "coverage/masked_rollouts": 3,
        "coverage/measured_tasks": 1,
        "coverage/fully_masked_tasks": 1,
    }
    assert not any(key.startswith("coverage/") for key in second)


def test_agents_without_a_measured_rollout_follow_in_key_order(tmp_path: Path) -> None:
    inputs = [work(1, 0, "z"), work(2, 0, "y"), work(0, 0, "x"), work(3, 0, "a")]
    results = [result(task, 0, reward=1.0, mask_sample=task != 3) for task in (2, 1, 0, 3)]
    names = [agent["agent_ref"]["name"] for agent in Profile(tmp_path, inputs, results).agents]
    assert names == ["a", "x", "z", "y"]
