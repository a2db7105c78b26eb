"""A sweep's profile counts what its files hold at that moment, and says what is doubtful about it."""

from pathlib import Path

import polars as pl
import pytest

from reward_profiling.errors import IncompleteError
from reward_profiling.profile.refresh import is_current, refresh
from reward_profiling.sweep.report import MixedChange, read_report, write_report
from reward_profiling_tests.sweeps import append, failure, keys_of_shard, rollout, tiny_plan


def test_rollouts_of_all_shards_go_to_their_environment(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    append(plan.sweep.shard(0).rollouts, rollout((0, 0), 0.0), rollout((0, 1), 1.0), rollout((4, 0), 0.5))
    append(plan.sweep.shard(1).rollouts, rollout((1, 0), 0.25), rollout((1, 1), 0.5, mask_sample=True))
    append(plan.sweep.shard(1).failures, failure((3, 0), "skipped", _ng_failure_terminal=True))
    made = refresh(plan.sweep, {})
    alpha, beta = made.summary.iter_rows(named=True)
    assert (alpha["expected"], alpha["scored"], alpha["masked"], alpha["failed"], alpha["outstanding"]) == (
        6,
        3,
        1,
        0,
        2,
    )
    assert (beta["expected"], beta["scored"], beta["masked"], beta["failed"], beta["outstanding"]) == (6, 1, 0, 1, 4)
    assert alpha["mean_reward"] == pytest.approx(1.25 / 3, rel=1e-12)
    tasks = pl.read_parquet(made.tables["alpha"])
    assert tasks.select("_ng_task_index", "shard", "num_rollouts").rows() == [(0, 0, 2), (1, 1, 1), (2, 0, 0)]
    assert not made.complete
    assert made.mixed == ""


def test_a_profile_is_current_until_a_rollout_comes_in(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    assert not is_current(plan)
    append(plan.sweep.shard(0).rollouts, rollout((0, 0)))
    refresh(plan.sweep, {})
    assert is_current(plan)
    append(plan.sweep.shard(1).rollouts, rollout((1, 0)))
    assert not is_current(plan)


def test_a_partial_profile_can_be_refused(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    for number in range(2):
        append(plan.sweep.shard(number).rollouts, *map(rollout, keys_of_shard(plan.sweep.shard(number))[1:]))
    with pytest.raises(IncompleteError, match="2 rollouts are outstanding"):
        refresh(plan.sweep, {}, allow_partial=False)
    assert not (plan.sweep.profiles / "summary.parquet").exists()
    for number in range(2):
        append(plan.sweep.shard(number).rollouts, rollout(keys_of_shard(plan.sweep.shard(number))[0]))
    assert refresh(plan.sweep, {}, allow_partial=False).complete


def test_a_mixed_sweep_says_so_in_every_table(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    changes = (
        MixedChange(at="2026-01-31T12:00:00Z", parts=("model", "server.a")),
        MixedChange(at="x", parts=("model",)),
    )
    write_report(plan.sweep, read_report(plan.sweep).model_copy(update={"mixed": changes}))
    made = refresh(plan.sweep, {})
    assert made.mixed == "model, server.a"
    assert made.summary["mixed"].to_list() == ["model, server.a"] * 2
    for path in (*made.tables.values(), made.summary_path):
        assert pl.read_parquet_metadata(path)["mixed"] == "model, server.a"
