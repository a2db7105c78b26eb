"""Counts add up, and a shard is complete exactly when Gym would dispatch nothing more."""

import shutil
from pathlib import Path

import pytest

from reward_profiling.errors import SweepError
from reward_profiling.sweep.completeness import load_plan, look, outstanding
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.materialize import materialize
from reward_profiling_tests.sweeps import append, entry, failure, keys_of_shard, request, rollout, tiny_plan


def test_nothing_collected_is_all_outstanding(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    status = look(plan, 0)
    assert (status.counts.expected, status.counts.outstanding, status.complete) == (6, 6, False)
    assert status.last_row_at is None
    assert list(outstanding(plan, 0).select("task_index", "rollout_index").iter_rows()) == keys_of_shard(
        plan.sweep.shard(0)
    )


def test_gating_follows_gyms_rule_and_adds_up(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shard = plan.sweep.shard(0)
    append(shard.rollouts, rollout((0, 0)), rollout((0, 1), mask_sample=True))
    append(
        shard.failures,
        failure((0, 0)),  # succeeded later: a success only
        failure((2, 0), "skipped", _ng_failure_terminal=True),
        *[failure((2, 1), kind) for kind in ("first", "second", "agent_request_failed")],
        *[failure((4, 0))] * 2,
        b'{"_ng_failure_class":"no key"}\n',
    )
    status = look(plan, 0)
    counts = status.counts
    assert (counts.expected, counts.succeeded, counts.masked, counts.outstanding) == (6, 2, 1, 2)
    assert counts.failed == {"skipped": 1, "agent_request_failed": 1}
    assert counts.expected == counts.succeeded + counts.failed_total + counts.outstanding
    assert status.by_label["alpha"].outstanding == 0
    assert (status.by_label["beta"].expected, status.by_label["beta"].outstanding) == (2, 2)
    assert list(outstanding(plan, 0).select("task_index", "rollout_index").iter_rows()) == [(4, 0), (4, 1)]
    assert status.rows == 2 + 7


def test_the_attempts_limit_comes_from_gyms_variable(tmp_path: Path) -> None:
    sweep = tiny_plan(tmp_path).sweep
    append(sweep.shard(0).failures, failure((4, 0)), failure((4, 0)))
    for value, left in (("2", 5), ("3", 6), ("0", 6), ("many", 6)):
        plan = load_plan(sweep, {"NEMO_GYM_MAX_ROLLOUT_ATTEMPTS": value})
        assert look(plan, 0).counts.outstanding == left


def test_duplicates_foreign_and_broken_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shard = plan.sweep.shard(0)
    append(
        shard.rollouts,
        rollout((0, 0), 1.0),
        rollout((0, 0), 0.0),
        rollout((1, 0)),  # of the other shard
        rollout((0, 2)),  # beyond the repeats
        b"{cut\n",
        b'{"reward": 1.0}\n',
        b"\n",
    )
    status = look(plan, 0)
    assert (status.counts.succeeded, status.duplicates, status.foreign, status.broken) == (1, 1, 2, 2)


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_torn_tail_is_work_still_owed(tmp_path: Path, cut: int) -> None:
    plan = tiny_plan(tmp_path)
    line = rollout((0, 1))
    append(plan.sweep.shard(0).rollouts, rollout((0, 0)), line[:-cut])
    status = look(plan, 0)
    # A cut of one takes the newline only: Gym keeps such a row, so it counts.
    assert status.counts.succeeded == (2 if cut == 1 else 1)
    assert status.broken == 0
    append(plan.sweep.shard(0).rollouts, line[-cut:])
    assert look(plan, 0).counts.succeeded == 2


def test_simulated_rows_are_noticed(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    append(plan.sweep.shard(0).rollouts, rollout((0, 0)))
    assert not look(plan, 0).simulated
    append(plan.sweep.shard(0).rollouts, rollout((0, 1), _simulated=True))
    assert look(plan, 0).simulated


def test_a_missing_or_cut_work_list_is_an_error(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    work = plan.sweep.shard(0).work_list
    content = work.read_bytes()
    work.write_bytes(content[:-10])
    with pytest.raises(SweepError, match=f"has {len(content) - 10} bytes instead of {len(content)}"):
        look(plan, 0)
    work.unlink()
    with pytest.raises(SweepError, match="the work list is missing"):
        look(plan, 0)


def test_an_empty_shard_is_complete(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path, tasks=1, num_shards=4)
    assert look(plan, 3).counts.expected == 0
    assert look(plan, 3).complete


def test_a_shard_that_was_never_written_owes_everything(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shutil.rmtree(plan.sweep.shard(1).path)
    counts = look(plan, 1).counts
    assert (counts.expected, counts.outstanding) == (6, 6)


@pytest.mark.parametrize("layout", [Layout(num_shards=2, shuffle=3), Layout(num_shards=2, deal="row", shuffle=3)])
def test_outstanding_rollouts_come_in_the_order_of_the_work_list(tmp_path: Path, layout: Layout) -> None:
    entries = [entry(tmp_path / "data", "alpha", 5, 3), entry(tmp_path / "data", "beta", 4, 3)]
    materialize(request(entries, layout=layout), tmp_path / "sweeps")
    plan = load_plan(SweepDir(tmp_path / "sweeps" / "tiny"), {})
    keys = keys_of_shard(plan.sweep.shard(1))
    append(plan.sweep.shard(1).rollouts, *map(rollout, keys[::2]))
    assert list(outstanding(plan, 1).select("task_index", "rollout_index").iter_rows()) == keys[1::2]
    status = look(plan, 1)
    assert (status.counts.expected, status.counts.succeeded, status.foreign) == (len(keys), len(keys[::2]), 0)
