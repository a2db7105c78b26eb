"""One object per label over all its rollouts (Gym contract 6.6).

Promise: the content of `_agent_metrics.json`: the five blocks, the across-repeats block and coverage, by label; agents
of whom only coverage is known follow in the order of their first rollouts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from reward_profiling.profile.across_repeats import across_repeats, mean_keys
from reward_profiling.profile.group_statistics import group_statistics
from reward_profiling.profile.grouping import Groups
from reward_profiling.profile.number_table import NumberTable
from reward_profiling.profile.repeat_rows import RepeatRow
from reward_profiling.profile.statistic_keys import group_objects, key_series


def agent_objects(
    table: NumberTable, labels: Groups, repeats: Sequence[RepeatRow], coverages: Mapping[str, Mapping[str, int]]
) -> list[dict[str, Any]]:
    """The objects for the rollouts grouped by `label`; `repeats` are the repeat rows of all labels."""
    keys = mean_keys(repeats)
    by_label: dict[str, list[RepeatRow]] = {}
    for row in repeats:
        by_label.setdefault(row["agent_ref"]["name"], []).append(row)
    names = labels.keys["label"].to_list()
    statistics = group_objects(key_series(group_statistics(table, labels)), len(names))
    objects = [
        {
            **blocks,
            "agent_ref": {"name": name},
            **across_repeats(by_label.get(name, []), keys),
            **coverages.get(name, {}),
        }
        for name, blocks in zip(names, statistics, strict=True)
    ]
    unmeasured = coverages.keys() - set(names)
    return objects + [{"agent_ref": {"name": name}, **coverages[name]} for name in coverages if name in unmeasured]
