"""Which shard collects which rollout, and in what order a shard dispatches its tasks.

Promise: `owner` is the one rule; whatever else says whose a key is follows from it. Every key of a task table has
exactly one owner, which depends on nothing but the table and the layout.
"""

from hashlib import blake2b
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict

DealMode = Literal["task", "row"]


class Layout(BaseModel):
    """How the keys of a task table are dealt over shards, and how each shard's tasks are ordered.

    `deal` task gives task t to shard t mod N with all its repeats (design, decision 2); row gives row r of the sweep's
    list of (task, repeat), in task order, to shard r mod N. `shuffle` seeds the order of the tasks within each shard;
    None leaves them in task order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_shards: int
    deal: DealMode = "task"
    shuffle: int | None = None


def with_first_row(tasks: pl.DataFrame) -> pl.DataFrame:
    """The whole task table with `first_row`: the number of each task's first repeat in the list of all rollouts."""
    repeats = pl.col("repeats").cast(pl.Int64)
    return tasks.with_columns(first_row=repeats.cum_sum() - repeats)


def owner(layout: Layout) -> pl.Expr:
    """The number of the shard that collects a key, from `task_index`, `rollout_index` and `first_row`."""
    dealt = pl.col("task_index") if layout.deal == "task" else pl.col("first_row") + pl.col("rollout_index")
    return dealt % layout.num_shards


def tasks_of_shard(table: pl.DataFrame, number: int, layout: Layout) -> pl.DataFrame:
    """The tasks of which shard `number` collects any repeat, in task order.

    `table` is the whole task table. `first_repeat` and `repeat_step` are added: the shard collects the repeats
    `first_repeat`, `first_repeat + repeat_step`, … below `repeats` (see `keys_of`).
    """
    first_owner = owner(layout).cast(pl.Int64)
    tasks = with_first_row(table).with_columns(rollout_index=pl.lit(0, pl.Int64)).with_columns(first_owner=first_owner)
    if layout.deal == "task":
        own = tasks.filter(pl.col("first_owner") == number).with_columns(
            first_repeat=pl.lit(0, pl.Int64), repeat_step=pl.lit(1, pl.Int64)
        )
    else:
        count = layout.num_shards
        own = tasks.with_columns(
            first_repeat=(number + count - pl.col("first_owner")) % count, repeat_step=pl.lit(count, pl.Int64)
        ).filter(pl.col("first_repeat") < pl.col("repeats"))
    return own.drop("first_row", "rollout_index", "first_owner")


def keys_of(tasks: pl.DataFrame) -> pl.DataFrame:
    """All keys of the given tasks with their label: `task_index`, `rollout_index`, `label`, in the order of the tasks.

    Of tasks from `tasks_of_shard` the shard's own keys; of any other part of a task table every repeat.
    """
    dealt = "first_repeat" in tasks.columns
    first, step = ("first_repeat", pl.col("repeat_step")) if dealt else (pl.lit(0, pl.Int64), pl.lit(1, pl.Int64))
    repeats = pl.int_ranges(first, pl.col("repeats").cast(pl.Int64), step, dtype=pl.Int64)
    return (
        tasks.select("task_index", "label", rollout_index=repeats)
        .explode("rollout_index")
        .select("task_index", "rollout_index", "label")
    )


def in_dispatch_order(tasks: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Tasks or keys in the order in which their shard dispatches them; the repeats of a task stay together.

    The order within one shard does not depend on which other shards' tasks are given.
    """
    if layout.shuffle is None:
        return tasks
    ranks = [_rank(layout.shuffle, task) for task in tasks["task_index"]]
    return tasks.with_columns(_rank=pl.Series(ranks, dtype=pl.UInt64)).sort("_rank", maintain_order=True).drop("_rank")


def _rank(seed: int, task_index: int) -> int:
    return int.from_bytes(blake2b(f"{seed}\0{task_index}".encode(), digest_size=8).digest())
