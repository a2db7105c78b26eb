"""Statistics of groups: gaps, the std rule, the integer rule, sums in Gym's order (Gym contract 6.4 and 6.5)."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reward_profiling.profile.group_statistics import group_statistics
from reward_profiling.profile.grouping import group
from reward_profiling.profile.number_table import NumberTable
from reward_profiling_tests.unit.profile.rows import Profile, Row, profile_values, result, work

BLOCKS = ("mean", "max", "min", "median", "std")


def _of(row: Row, column: str) -> dict[str, float]:
    return {block: row[f"{block}/{column}"] for block in BLOCKS if f"{block}/{column}" in row}


def test_five_blocks_over_columns_in_order_of_first_appearance(tmp_path: Path) -> None:
    row = profile_values(tmp_path, [{"b": 1.0}, {"a": 2.0, "b": 4.0}]).groups[0]
    assert list(row)[1:10] == [*(f"{block}/{column}" for block in BLOCKS[:4] for column in "ba"), "std/b"]
    assert _of(row, "b") == {"mean": 2.5, "max": 4.0, "min": 1.0, "median": 2.5, "std": math.sqrt(4.5)}


def test_columns_are_ordered_by_key_and_not_by_place_in_the_file(tmp_path: Path) -> None:
    profile = Profile(tmp_path, [work(0, 0), work(1, 0)], [result(1, 0, x=1.0), result(0, 0, y=1.0)])
    assert list(profile.agents[0])[:2] == ["mean/y", "mean/x"]


def test_a_gap_is_left_out_of_every_statistic(tmp_path: Path) -> None:
    row = profile_values(tmp_path, [{"v": 1.0, "r": 1.0}, {"r": 2.0}, {"v": 4.0, "r": 3.0}]).groups[0]
    assert _of(row, "v") == {"mean": 2.5, "max": 4.0, "min": 1.0, "median": 2.5, "std": math.sqrt(4.5)}


@pytest.mark.parametrize(
    ("rollouts", "deviations"),
    [
        ([{"a": 1.0, "b": 2.0}], {"a": 0.0, "b": 0.0}),
        ([{"a": 1.0}, {"b": 2.0}], {}),
        ([{"a": 1.0, "b": 2.0}, {"b": 2.0}], {"b": 0.0}),
        ([{"a": 1.0}, {}], {}),
        ([{"a": 1.0, "b": 5}, {"a": 3.0, "b": 5}], {"a": math.sqrt(2), "b": 0.0}),
    ],
)
def test_which_columns_of_a_group_have_a_std(tmp_path: Path, rollouts: list[Row], deviations: dict[str, float]) -> None:
    row = profile_values(tmp_path, rollouts, [{"a": 1.0, "b": 1.0}] * 3).groups[0]
    assert {key.removeprefix("std/"): value for key, value in row.items() if key.startswith("std/")} == deviations


@pytest.mark.parametrize(
    ("rollouts", "kind"),
    [
        ([{"v": 1}, {"v": 3}], int),
        ([{"v": True}, {"v": 3}], int),
        ([{"v": 1, "w": 2}, {"v": 3}], float),
        ([{"v": 1}, {"v": 3.0}], float),
        ([{"v": 1, "w": 0.5}, {"v": 3, "w": 0.5}], float),
    ],
)
def test_max_and_min_are_integers_only_where_everything_is(tmp_path: Path, rollouts: list[Row], kind: type) -> None:
    profile = profile_values(tmp_path, rollouts)
    for row in (profile.groups[0], profile.agents[0]):
        assert [type(row[f"{block}/v"]) for block in BLOCKS] == [float, kind, kind, float, float]


def test_one_gap_anywhere_makes_floats_of_all_groups(tmp_path: Path) -> None:
    assert isinstance(profile_values(tmp_path, [{"v": 1}], [{"v": 2}, {}]).groups[0]["max/v"], float)


def test_masked_rollouts_do_not_count_for_the_integer_rule(tmp_path: Path) -> None:
    row = profile_values(tmp_path, [{"v": 1}, {"v": 0.5, "mask_sample": True}]).groups[0]
    assert (row["max/v"], type(row["max/v"])) == (1, int)


def test_large_integers_stay_exact(tmp_path: Path) -> None:
    row = profile_values(tmp_path, [{"v": 0}, {"v": 2**60 + 1}]).groups[0]
    assert row["max/v"] == 2**60 + 1


@pytest.mark.parametrize("values", [[0.3, 0.1 + 0.2], [1e15, 1e15 + 1], [2**63 + 5, -1], [1.7e308, -1.7e308]])
def test_what_makes_gym_abort_on_its_histogram_is_profiled(tmp_path: Path, values: list[float]) -> None:
    row = profile_values(tmp_path, [{"reward": value} for value in values]).groups[0]
    assert row["num_rollouts"] == 2
    assert row["mean/reward"] == pytest.approx(sum(value / 2 for value in values))


@pytest.mark.parametrize("number", [3, 7, 8, 9, 127, 128, 129, 300])
def test_bulk_sums_equal_the_sums_of_single_groups_to_the_last_bit(number: int) -> None:
    rng = np.random.default_rng(number)
    values = rng.choice([0.1, 0.2, 0.7, 1e8, np.nan], size=50 * number)
    values[0::number], values[1::number] = 0.1, 0.3  # at least two values in each group
    members = pl.DataFrame({"task_index": np.repeat(np.arange(50), number), "rollout_index": [0] * 50 * number})
    bulk = group_statistics(NumberTable({"v": values}), group(members, ["task_index"]))["v"]
    for place, block in enumerate(values.reshape(50, number)):
        gaps = np.isnan(block)
        mean = np.where(gaps, 0.0, block).sum() / (~gaps).sum()
        squares = np.where(gaps, 0.0, (mean - block) ** 2).sum()
        assert bulk.mean[place] == mean
        assert bulk.std[place] == math.sqrt(squares / ((~gaps).sum() - 1))
        assert bulk.median[place] == np.nanmedian(block)


def test_the_mean_of_minus_zeros_is_zero_and_their_max_is_not(tmp_path: Path) -> None:
    row = profile_values(tmp_path, [{"v": -0.0}, {"v": -0.0}]).groups[0]
    assert [math.copysign(1, row[f"{block}/v"]) for block in ("mean", "median", "max")] == [1, 1, -1]


def test_a_group_without_numbers_has_no_statistics_but_a_row(tmp_path: Path) -> None:
    row = profile_values(tmp_path, [{"reward": "bad"}], [{"reward": 1.0}]).groups[0]
    assert list(row)[1] == "sample"
    assert row["rollout_infos"][0]["reward"] == "bad"
