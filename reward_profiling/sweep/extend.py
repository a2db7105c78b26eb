"""Fitting a new task table onto a sweep that has one: old tasks keep their indices, new work is added behind them.

Promise: appending or inserting an entry and raising an entry's repeats are extensions (design, decision 1). Whatever
else differs would renumber tasks or orphan rollouts, and is named.
"""

from dataclasses import dataclass

import polars as pl

from reward_profiling.sweep.tasks import TASK_SCHEMA

_IDENTITY = ["source_row", "content_hash", "agent"]


@dataclass(frozen=True)
class Extension:
    """The extended table (`TASK_SCHEMA`, in task order), or why there is none: one line per entry."""

    table: pl.DataFrame | None
    conflicts: tuple[str, ...] = ()


def extend(old: pl.DataFrame, new: pl.DataFrame) -> Extension:
    """Fit `new`, numbered as if nothing were there, onto `old`; both `TASK_SCHEMA`."""
    kept, conflicts = [], []
    for (label,), before in old.group_by("label", maintain_order=True):
        after = new.filter(pl.col("label") == label)
        conflict = _conflict(before, after)
        if conflict:
            conflicts.append(f"{label} {conflict}")
        else:
            kept.append(after.with_columns(before["task_index"]))
    if conflicts:
        return Extension(None, tuple(conflicts))
    added = new.join(old.select("label").unique(), on="label", how="anti", maintain_order="left")
    first = old["task_index"].max()
    start = 0 if not isinstance(first, int) else first + 1
    numbered = added.with_columns(task_index=pl.int_range(start, start + pl.len(), dtype=pl.Int64))
    return Extension(pl.concat([*kept, numbered]).sort("task_index").select(list(TASK_SCHEMA)))


def _conflict(before: pl.DataFrame, after: pl.DataFrame) -> str | None:
    if after.is_empty():
        return "is no longer in the manifest"
    if not before.select(_IDENTITY).equals(after.select(_IDENTITY)):
        if before.height != after.height:
            return f"had {before.height} tasks and would have {after.height}"
        return "would have other tasks, another order or another agent"
    if after["repeats"][0] < before["repeats"][0]:
        return f"had {before['repeats'][0]} repeats and would have {after['repeats'][0]}"
    return None
