"""The profile of one environment: one row per task, whether it has rollouts or not.

Promise: statistics under Gym's names with Gym's values (Gym contract 6.5), always as floats; a task's rollouts add up:
`num_rollouts + num_masked + missing_num_rollouts` are its repeats.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from reward_profiling.profile.group_statistics import ColumnStatistics, group_statistics
from reward_profiling.profile.grouping import group
from reward_profiling.profile.number_table import NumberTable
from reward_profiling.profile.statistic_keys import KeySeries, key_series
from reward_profiling.sweep.numbers import REWARD, is_masked

_COUNTS = ("num_rollouts", "expected_num_rollouts", "missing_num_rollouts")


@dataclass(frozen=True)
class EnvironmentProfile:
    """`table` has one row per task; `numbers` are the columns of the unmasked rollouts, by (task, rollout)."""

    table: pl.DataFrame
    numbers: NumberTable
    rewards: ColumnStatistics


def profile_environment(tasks: pl.DataFrame, rollouts: pl.DataFrame) -> EnvironmentProfile:
    """Profile the rollouts (`RECORD_COLUMNS`, by (task, rollout), every key once) of the tasks of one label.

    Columns of the table: `_ng_task_index`; `mean/<c>`, `max/<c>`, `min/<c>`, `median/<c>`, `std/<c>` over the columns
    in Gym's order (null where the task has no value; those of `reward` are always there); `num_rollouts` (unmasked),
    `expected_num_rollouts` (repeats less masked), `missing_num_rollouts` (failed for good or outstanding),
    `reward_profile_completion_pct` (null when every rollout is masked); `num_masked`; `label`, `shard`, `source`,
    `source_row`, `content_hash`.
    """
    masked = is_masked(rollouts["numbers"])
    measured = rollouts.filter(~masked)
    numbers = _with_reward(NumberTable.from_records(measured["numbers"]), measured.height)
    groups = group(measured.select("task_index", "rollout_index"), ["task_index"])
    statistics = group_statistics(numbers, groups)
    blocks = pl.DataFrame([groups.keys["task_index"], *map(_column, key_series(statistics))])
    table = (
        tasks.join(groups.keys.rename({"size": "num_rollouts"}), on="task_index", how="left", maintain_order="left")
        .join(_masked_per_task(rollouts.filter(masked)), on="task_index", how="left", maintain_order="left")
        .join(blocks, on="task_index", how="left", maintain_order="left")
        .with_columns(pl.col("num_rollouts", "num_masked").fill_null(0))
        .with_columns(expected_num_rollouts=pl.col("repeats") - pl.col("num_masked"))
        .with_columns(
            missing_num_rollouts=pl.col("expected_num_rollouts") - pl.col("num_rollouts"),
            reward_profile_completion_pct=pl.when(pl.col("expected_num_rollouts") > 0).then(
                100 * pl.col("num_rollouts") / pl.col("expected_num_rollouts")
            ),
        )
        .select(
            pl.col("task_index").alias("_ng_task_index"),
            pl.col(blocks.columns[1:]),
            pl.col(*_COUNTS, "reward_profile_completion_pct", "num_masked"),
            pl.col("label", "shard", "source", "source_row", "content_hash"),
        )
    )
    return EnvironmentProfile(table, numbers, statistics[REWARD])


def _with_reward(numbers: NumberTable, height: int) -> NumberTable:
    absent = {REWARD: np.full(height, np.nan)} if REWARD not in numbers.columns else {}
    return NumberTable({**numbers.columns, **absent})


def _masked_per_task(masked: pl.DataFrame) -> pl.DataFrame:
    return masked.group_by("task_index").agg(pl.len().cast(pl.Int64).alias("num_masked"))


def _column(series: KeySeries) -> pl.Series:
    values = np.where(series.exists, series.values.astype(np.float64), np.nan)
    return pl.Series(series.key, values).set(pl.Series(~series.exists), None)
