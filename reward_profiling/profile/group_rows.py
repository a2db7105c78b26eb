"""One row per group: its statistics, a sample of its input and what became of each rollout (Gym contract 6.5).

Promise: the content of `_reward_profiling.jsonl`, row by row, without holding more than a batch of rows.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from reward_profiling.profile.group_statistics import group_statistics
from reward_profiling.profile.grouping import Groups
from reward_profiling.profile.gym_files import read_samples
from reward_profiling.profile.number_table import NumberTable
from reward_profiling.profile.statistic_keys import group_objects, key_series
from reward_profiling.sweep.numbers import read_numbers


def group_rows(
    table: NumberTable, groups: Groups, expected: pl.DataFrame, inputs: Path, *, fanned_out: bool
) -> Iterator[dict[str, Any]]:
    """The rows of `groups`, whose members carry `numbers` and `offset` (of their row in the work list `inputs`).

    `expected` has the grouping's key columns and `expected`, the number of unmasked work-list rows of the group.
    """
    by = groups.keys.columns[:-1]
    wanted = groups.keys.join(expected, on=by, how="left", maintain_order="left")
    statistics = group_objects(key_series(group_statistics(table, groups)), len(groups.sizes))
    samples = read_samples(inputs, iter(groups.firsts()["offset"]))
    heads = wanted.select("task_index", "size", "expected", *(["label"] if fanned_out else [])).iter_rows()
    rollouts = groups.members.select("task_index", "rollout_index", "numbers").iter_rows()
    for (task, size, due, *label), blocks, sample in zip(heads, statistics, samples, strict=True):
        yield {
            "_ng_task_index": task,
            **blocks,
            **({"agent_ref": {"name": label[0]}} if fanned_out else {}),
            "sample": sample,
            "num_rollouts": size,
            "expected_num_rollouts": due,
            "missing_num_rollouts": due - size,
            "reward_profile_completion_pct": 100 * size / due,
            "rollout_infos": [rollout_info(*rollout) for rollout in islice(rollouts, size)],
        }


def rollout_info(task: int, rollout: int, record: bytes) -> dict[str, Any]:
    """One entry of `rollout_infos`; numbers of the rollout replace keys of the same name."""
    identity = {"rollout_id": f"{task}:{rollout}", "_ng_task_index": task, "_ng_rollout_index": rollout}
    return identity | read_numbers(record).info()
