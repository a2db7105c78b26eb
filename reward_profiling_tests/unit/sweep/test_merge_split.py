"""Everything in one file, or one directory per environment: each row once, byte for byte."""

from pathlib import Path

import pytest

from reward_profiling.errors import RefusedError, SweepError
from reward_profiling.sweep.completeness import load_plan
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.materialize import materialize
from reward_profiling.sweep.merge import merge
from reward_profiling.sweep.split import split
from reward_profiling.sweep.switch import changing
from reward_profiling_tests.collected import collect_some, holds, sweep_holds
from reward_profiling_tests.sweeps import append, entry, failure, keys_of_shard, request, rollout, tiny_plan


def test_a_merged_file_has_each_row_once_shard_after_shard(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    first, second = plan.sweep.shard(0), plan.sweep.shard(1)
    append(first.rollouts, rollout((2, 0)), rollout((0, 0)), rollout((2, 0), 0.0), b"{cut\n", rollout((1, 0)))
    append(first.rollouts, rollout((0, 1))[:-1])  # Gym keeps such a row
    append(second.rollouts, rollout((3, 0)), rollout((1, 1))[:-5])
    append(second.failures, failure((3, 1)), failure((3, 1)), failure((0, 1)))
    made = merge(plan, tmp_path / "out" / "all.v1.jsonl")
    assert made.rollouts.read_bytes() == b"".join(map(rollout, [(2, 0), (0, 0), (0, 1), (3, 0)]))
    assert made.failures == tmp_path / "out" / "all.v1_failures.jsonl"
    assert made.failures.read_bytes() == failure((3, 1)) * 2
    assert {label: each.succeeded for label, each in made.by_label.items()} == {"alpha": 3, "beta": 1}
    assert (made.failed_attempts, made.complete, made.without_rollouts) == (2, False, [])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["all.v1.jsonl", "all.v1_failures.jsonl"]


def test_nothing_collected_is_an_empty_file_and_labels_are_named(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    append(plan.sweep.shard(1).rollouts, rollout((3, 0)))
    assert merge(plan, tmp_path / "all.jsonl").without_rollouts == ["alpha"]
    plan = tiny_plan(tmp_path / "other")
    made = merge(plan, tmp_path / "all.jsonl")
    assert made.without_rollouts == ["alpha", "beta"]
    assert made.rollouts.read_bytes() == made.failures.read_bytes() == b""


@pytest.mark.parametrize("layout", [Layout(num_shards=3), Layout(num_shards=3, deal="row", shuffle=5)])
def test_labels_are_split_by_task_index_though_they_share_an_agent(tmp_path: Path, layout: Layout) -> None:
    entries = [entry(tmp_path / "data", "alpha", 5, repeats=3), entry(tmp_path / "data", "beta", 4, repeats=2)]
    entries.append(entry(tmp_path / "data", "gamma", 2, repeats=2))
    materialize(request(entries, layout=layout), tmp_path / "sweeps")
    plan = load_plan(SweepDir(tmp_path / "sweeps" / "tiny"), {})
    collect_some(plan, 4)
    made = split(plan, tmp_path / "out")
    parts = [ShardDir(tmp_path / "out" / label) for label in ("alpha", "beta", "gamma")]
    assert [str(path) for path in made.folders.values()] == [str(part.path) for part in parts]
    whole, shards = sweep_holds(plan), [plan.sweep.shard(number) for number in range(3)]
    for part, ends in zip(parts, [(0, 5), (5, 9), (9, 11)], strict=True):
        held = holds([part.rollouts], [part.failures])
        assert held.rollouts == {key: line for key, line in whole.rollouts.items() if key[0] in range(*ends)}
        assert held.failures == {key: line for key, line in whole.failures.items() if key[0] in range(*ends)}
        lines = part.work_list.read_bytes().splitlines()
        own = [line for shard in shards for line in shard.work_list.read_bytes().splitlines()]
        assert sorted(lines) == sorted(line for line in own if b'"%b"' % part.name.encode() in line)
        if layout.shuffle is None:
            assert keys_of_shard(part) == sorted(keys_of_shard(part))
    assert not list((tmp_path / "out").glob(".*"))


def test_a_label_without_rollouts_has_a_directory_and_is_named(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    append(plan.sweep.shard(0).rollouts, rollout((0, 0)))
    made = split(plan, tmp_path / "out")
    assert made.without_rollouts == ["beta"]
    assert (tmp_path / "out" / "beta" / "rollouts.jsonl").read_bytes() == b""
    assert len((tmp_path / "out" / "beta" / "rollouts_materialized_inputs.jsonl").read_bytes().splitlines()) == 6


def test_what_a_killed_process_left_is_dropped_and_old_outputs_are_replaced(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    append(plan.sweep.shard(0).rollouts, rollout((0, 0)))
    out = tmp_path / "out"
    (out / ".unfinished" / "beta").mkdir(parents=True)
    (out / ".unfinished" / "beta" / "rollouts.jsonl").write_bytes(b"half")
    (out / "alpha").mkdir()
    (out / "alpha" / "rollouts.jsonl").write_bytes(b"old")
    split(plan, out)
    assert (out / "alpha" / "rollouts.jsonl").read_bytes() == rollout((0, 0))
    assert (out / "beta" / "rollouts.jsonl").read_bytes() == b""
    assert not (out / ".unfinished").exists()


def test_a_damaged_shard_leaves_what_is_there(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    output = tmp_path / "all.jsonl"
    output.write_bytes(b"old")
    plan.sweep.shard(1).work_list.unlink()
    for write in (lambda: merge(plan, output), lambda: split(plan, tmp_path / "out")):
        with pytest.raises(SweepError, match="the work list is missing"):
            write()
    assert output.read_bytes() == b"old"
    assert list((tmp_path / "out").iterdir()) == []


def test_the_sweeps_own_files_are_no_place_for_outputs(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    sweep = plan.sweep
    for place in (sweep.shard(0).rollouts, sweep.report, sweep.tasks, sweep.snapshots / "x.jsonl", sweep.path):
        with pytest.raises(RefusedError, match="a place of the sweep's own files"):
            merge(plan, place)
    with pytest.raises(RefusedError, match="a place of the sweep's own files"):
        split(plan, sweep.shards)


def test_a_sweep_that_is_being_changed_is_not_read(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    with changing(plan.sweep), pytest.raises(SweepError, match="another process is changing"):
        merge(plan, tmp_path / "all.jsonl")
