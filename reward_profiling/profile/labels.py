"""Under which name a rollout is counted, and whether tasks were fanned out to several (Gym contract 6.3).

Promise: two run keys never share a label, and a row without a run key has none.
"""

from collections import Counter
from collections.abc import Mapping

import polars as pl


def label_run_keys(agents: Mapping[str, str | None]) -> dict[str, str]:
    """Run key to label: its agent's name when no other run key has that agent, else the run key itself.

    `agents` gives the agent of each run key, None where it has none. A name that would still stand for two run keys
    yields to the run keys.
    """
    users = Counter(agent for agent in agents.values() if agent is not None)
    labels = {key: agent if agent is not None and users[agent] == 1 else key for key, agent in agents.items()}
    while clashes := {label for label, count in Counter(labels.values()).items() if count > 1}:
        labels = {key: key if label in clashes else label for key, label in labels.items()}
    return labels


def with_labels(work: pl.DataFrame) -> pl.DataFrame:
    """`work` (columns `run_key`, `agent`, in file order) with a column `label`, null for a row without a run key.

    The agent of a run key is that of its first row.
    """
    firsts = work.drop_nulls("run_key").unique("run_key", keep="first", maintain_order=True)
    labels = label_run_keys(dict(firsts.select("run_key", "agent").iter_rows()))
    return work.with_columns(
        label=pl.col("run_key").replace_strict(labels, default=None, return_dtype=pl.String()),
    )


def is_fanned_out(labelled: pl.DataFrame) -> bool:
    """Whether some task has rows under several labels; having no label counts as one more."""
    return labelled.select("task_index", "label").n_unique() > labelled["task_index"].n_unique()
