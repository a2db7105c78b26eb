"""How much of an agent's work was measured and how much masked (Gym contract 6.6).

Promise: counts for exactly those agents that have a masked rollout; an agent here is the name in the work list's
`agent_ref`, whatever its label.
"""

import polars as pl


def coverage(collected: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Agent name to its `coverage/*` keys, in the order of the agents' first rollouts by (task, rollout).

    `collected` has one row per rollout: `task_index`, `rollout_index`, `agent` and `masked`.
    """
    counts = (
        collected.drop_nulls("agent")
        .sort("task_index", "rollout_index")
        .group_by("agent", maintain_order=True)
        .agg(
            (~pl.col("masked")).sum().alias("coverage/measured_rollouts"),
            pl.col("masked").sum().alias("coverage/masked_rollouts"),
            pl.col("task_index").filter(~pl.col("masked")).n_unique().alias("coverage/measured_tasks"),
            pl.col("task_index").n_unique().alias("tasks"),
        )
        .filter(pl.col("coverage/masked_rollouts") > 0)
        .select(
            "agent",
            pl.selectors.starts_with("coverage/"),
            (pl.col("tasks") - pl.col("coverage/measured_tasks")).alias("coverage/fully_masked_tasks"),
        )
    )
    return {row.pop("agent"): row for row in counts.iter_rows(named=True)}
