"""One environment in one row: the accounting of its rollouts, its rewards, its tokens.

Promise: `expected = scored + masked + failed + outstanding`; a row of a partial environment says so in `complete`, and
one with rollouts of the collector stand-in in `simulated`.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reward_profiling.profile.environment_table import EnvironmentProfile
from reward_profiling.profile.intervals import estimate_mean
from reward_profiling.profile.sweep_inputs import Environment, Stamp
from reward_profiling.sweep.numbers import REWARD
from reward_profiling.sweep.status import Counts

SUMMARY_SCHEMA = {
    "nickname": pl.String(),
    "label": pl.String(),
    "complete": pl.Boolean(),
    "simulated": pl.Boolean(),
    "mixed": pl.String(),
    "tasks": pl.Int64(),
    "tasks_measured": pl.Int64(),
    "expected": pl.Int64(),
    "succeeded": pl.Int64(),
    "masked": pl.Int64(),
    "scored": pl.Int64(),
    "failed": pl.Int64(),
    "failed_by_class": pl.List(pl.Struct({"failure_class": pl.String(), "rollouts": pl.Int64()})),
    "outstanding": pl.Int64(),
    "rewards": pl.Int64(),
    "mean_reward": pl.Float64(),
    "mean_reward_of_tasks": pl.Float64(),
    "std_reward": pl.Float64(),
    "min_reward": pl.Float64(),
    "max_reward": pl.Float64(),
    "pass_threshold": pl.Float64(),
    "pass_rate": pl.Float64(),
    "tasks_all_pass": pl.Int64(),
    "tasks_all_fail": pl.Int64(),
    "tasks_mixed": pl.Int64(),
    "share_all_pass": pl.Float64(),
    "share_all_fail": pl.Float64(),
    "share_mixed": pl.Float64(),
    "mean_input_tokens": pl.Float64(),
    "mean_output_tokens": pl.Float64(),
    "mean_total_tokens": pl.Float64(),
    "manifest_digest": pl.String(),
    "profiled_at": pl.String(),
}
"""Rollouts: `expected` = `succeeded` + `failed` + `outstanding`, `scored` = `succeeded` - `masked`; `rewards` are the
scored ones whose reward is a number, and `tasks_measured` the tasks that have one. `mean_reward`, `std_reward` (ddof 1,
null for fewer than two), `min_reward`, `max_reward` are over rollouts; `mean_reward_of_tasks` is the mean of the task
means. `pass_rate` is the share of rewards that are at least `pass_threshold`; a task is all-pass, all-fail or mixed by
its rewards so far, and the shares are of `tasks_measured`. Mean tokens are over scored rollouts that report them."""


def summarize(
    environment: Environment, profile: EnvironmentProfile, counts: Counts, stamp: Stamp, *, simulated: bool
) -> pl.DataFrame:
    """The row of one environment (`SUMMARY_SCHEMA`); statistics without any value are null."""
    failed = [{"failure_class": kind, "rollouts": number} for kind, number in sorted(counts.failed.items())]
    row = {
        "nickname": stamp.nickname,
        "label": environment.label,
        "complete": counts.complete,
        "simulated": simulated,
        "mixed": stamp.mixed,
        "tasks": profile.table.height,
        "expected": counts.expected,
        "succeeded": counts.succeeded,
        "masked": counts.masked,
        "scored": counts.succeeded - counts.masked,
        "failed": counts.failed_total,
        "failed_by_class": failed,
        "outstanding": counts.outstanding,
        **_rewards(profile, environment.pass_threshold),
        **_tasks(profile, environment.pass_threshold),
        **{f"mean_{name}": _mean(_values(profile, name)) for name in ("input_tokens", "output_tokens", "total_tokens")},
        "manifest_digest": stamp.manifest_digest,
        "profiled_at": stamp.profiled_at,
    }
    return pl.DataFrame([row], schema=SUMMARY_SCHEMA)


def _values(profile: EnvironmentProfile, column: str) -> NDArray[np.float64]:
    values = profile.numbers.columns.get(column, np.empty(0)).astype(np.float64)
    return values[~np.isnan(values)]


def _mean(values: NDArray[np.float64]) -> float | None:
    return estimate_mean(values).mean if len(values) else None


def _rewards(profile: EnvironmentProfile, threshold: float) -> dict[str, float | None]:
    rewards = _values(profile, REWARD)
    some = len(rewards) > 0
    return {
        "rewards": len(rewards),
        "mean_reward": _mean(rewards),
        "std_reward": estimate_mean(rewards).std if len(rewards) > 1 else None,
        "min_reward": float(rewards.min()) if some else None,
        "max_reward": float(rewards.max()) if some else None,
        "pass_threshold": threshold,
        "pass_rate": float((rewards >= threshold).mean()) if some else None,
    }


def _tasks(profile: EnvironmentProfile, threshold: float) -> dict[str, float | None]:
    measured = profile.rewards.count > 0
    number = int(measured.sum())
    kinds = {
        "all_pass": int((profile.rewards.min[measured] >= threshold).sum()),
        "all_fail": int((profile.rewards.max[measured] < threshold).sum()),
    }
    kinds["mixed"] = number - sum(kinds.values())
    return {
        "tasks_measured": number,
        "mean_reward_of_tasks": _mean(profile.rewards.mean[measured]),
        **{f"tasks_{kind}": tasks for kind, tasks in kinds.items()},
        **{f"share_{kind}": tasks / number if number else None for kind, tasks in kinds.items()},
    }
