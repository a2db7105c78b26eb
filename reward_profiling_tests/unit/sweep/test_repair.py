"""Repair makes files fit for a resume and loses nothing."""

import os
from pathlib import Path

from reward_profiling.files import read_json_lines
from reward_profiling.sweep.completeness import look
from reward_profiling.sweep.deal import keys_of
from reward_profiling.sweep.repair import RepairReport, repair
from reward_profiling_tests.sweeps import append, failure, rollout, tiny_plan


def test_whatever_is_wrong_is_taken_out_and_kept(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shard = plan.sweep.shard(0)
    keys = keys_of(plan.shard_tasks(0))
    torn = rollout((2, 0))[:-9]
    bad = [rollout((0, 0), 0.0), b"{cut\n", rollout((1, 0)), torn]
    append(shard.rollouts, rollout((0, 0)), b"\n", *bad[:3], rollout((0, 1)), torn)
    append(shard.failures, failure((2, 0)), b"broken\n", failure((2, 0)), b'{"half"')
    before = look(plan, 0)
    os.utime(shard.rollouts, (1000.0, 1000.0))
    report = repair(shard, keys)
    assert report == RepairReport(torn=2, broken=2, duplicate=1, foreign=1)
    assert shard.rollouts.read_bytes() == rollout((0, 0)) + rollout((0, 1))
    assert shard.failures.read_bytes() == failure((2, 0)) * 2
    assert shard.rollouts.stat().st_mtime == 1000.0
    after = look(plan, 0)
    assert after.counts == before.counts
    assert (after.duplicates, after.foreign, after.broken) == (0, 0, 0)
    rejected = {record["line"] for record in read_json_lines(shard.path / "rejected.jsonl")}
    assert rejected == {line.decode() for line in [*bad, b"broken\n", b'{"half"']}
    assert repair(shard, keys).rejected == 0


def test_sound_files_are_left_alone_and_missing_ones_made(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shard = plan.sweep.shard(0)
    assert repair(shard, keys_of(plan.shard_tasks(0))).rejected == 0
    assert shard.rollouts.read_bytes() == shard.failures.read_bytes() == b""
    append(shard.rollouts, rollout((0, 0)))
    os.utime(shard.rollouts, (1000.0, 1000.0))
    inode = shard.rollouts.stat().st_ino
    assert repair(shard, keys_of(plan.shard_tasks(0))).rejected == 0
    assert (shard.rollouts.stat().st_ino, shard.rollouts.stat().st_mtime) == (inode, 1000.0)
    assert not (shard.path / "rejected.jsonl").exists()


def test_a_missing_newline_is_added(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shard = plan.sweep.shard(0)
    append(shard.rollouts, rollout((0, 0)), rollout((0, 1))[:-1])
    assert repair(shard, keys_of(plan.shard_tasks(0))).rejected == 0
    assert shard.rollouts.read_bytes() == rollout((0, 0)) + rollout((0, 1))
    append(shard.rollouts, rollout((2, 0)))
    assert look(plan, 0).counts.succeeded == 3
