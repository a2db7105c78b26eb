"""A look that finds nothing new reads neither tasks nor rollouts, and answers as the look before it did."""

from pathlib import Path

import polars as pl
import pytest

from reward_profiling.sweep import last_look
from reward_profiling.sweep.completeness import load_plan, look
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.last_look import Basis, recall, remember
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.status import Counts, ShardStatus
from reward_profiling_tests.sweeps import append, failure, rollout, tiny_plan

BASIS = Basis("blake2b:0", Layout(num_shards=1), 3, False, "r", "f")


def _forbid_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a look with nothing new read a table")

    monkeypatch.setattr(pl, "read_parquet", refuse)


def test_a_second_look_reads_no_table_and_sees_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = tiny_plan(tmp_path).sweep
    shard = sweep.shard(0)
    append(
        shard.rollouts, rollout((0, 0)), rollout((0, 0)), rollout((1, 0)), b"broken\n", rollout((0, 1), _simulated=True)
    )
    append(shard.failures, failure((2, 0), _ng_failure_terminal=True))
    first = look(load_plan(sweep, {}), 0)
    with monkeypatch.context() as patch:
        _forbid_parquet(patch)
        second = look(load_plan(sweep, {}), 0)
    assert (second.counts, second.by_label, second.last_row_at) == (first.counts, first.by_label, first.last_row_at)
    assert (second.duplicates, second.foreign, second.broken, second.simulated) == (1, 1, 1, True)
    assert (second.rows, second.bytes_collected) == (first.rows, first.bytes_collected)
    append(shard.rollouts, rollout((2, 1)))
    assert look(load_plan(sweep, {}), 0).counts.succeeded == first.counts.succeeded + 1


def test_another_rule_or_other_bytes_are_judged_anew(tmp_path: Path) -> None:
    sweep = tiny_plan(tmp_path).sweep
    shard = sweep.shard(0)
    append(shard.failures, failure((0, 0)))
    assert look(load_plan(sweep, {}), 0).counts.failed_total == 0
    assert look(load_plan(sweep, {"NEMO_GYM_MAX_ROLLOUT_ATTEMPTS": "1"}), 0).counts.failed_total == 1
    assert look(load_plan(sweep, {}), 0).counts.failed_total == 0
    shard.failures.write_bytes(failure((0, 0), _ng_failure_terminal=1))
    assert look(load_plan(sweep, {}), 0).counts.failed_total == 1


def test_a_lost_or_damaged_memory_is_no_harm(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    append(plan.sweep.shard(0).rollouts, rollout((0, 0)))
    first = look(plan, 0)
    memory = plan.sweep.shard(0).index / "last_look.json"
    for content in (b"", b"{}", memory.read_bytes().replace(b'"version":1', b'"version":2')):
        memory.write_bytes(content)
        assert look(plan, 0).counts == first.counts
    memory.unlink()
    assert look(plan, 0).counts == first.counts


def _found(gated: int) -> ShardStatus:
    counts = Counts(expected=100, succeeded=gated, outstanding=100 - gated)
    return ShardStatus("shard_000", counts, {"a": counts})


def _looks(status: ShardStatus | None) -> list[tuple[float, int]]:
    assert status is not None
    return [(sample.at, sample.gated["a"]) for sample in status.samples]


def test_samples_tell_when_what_was_there(tmp_path: Path) -> None:
    shard = ShardDir(tmp_path / "shard_000")
    shard.path.mkdir()
    assert _looks(remember(shard, BASIS, _found(0), now=1000)) == [(1000, 0)]
    # Nothing new for a while: the next rollouts came after that.
    assert _looks(recall(shard, BASIS, now=3000)) == [(1000, 0), (3000, 0)]
    assert _looks(recall(shard, BASIS, now=3500)) == [(1000, 0), (3500, 0)]
    grown = remember(shard, BASIS, _found(10), now=3600)
    assert _looks(grown) == [(1000, 0), (3500, 0), (3600, 10)]
    # Looks in quick succession leave one sample a minute; the newest stays.
    for second in range(1, 60):
        grown = remember(shard, BASIS, _found(10), now=3600 + second)
    assert _looks(grown) == [(1000, 0), (3500, 0), (3600, 10), (3659, 10)]
    # Of what lies before the window one sample is kept, to reckon from.
    assert _looks(remember(shard, BASIS, _found(50), now=9000)) == [(3600, 10), (9000, 50)]


def test_the_file_is_written_only_when_something_changed(tmp_path: Path) -> None:
    shard = ShardDir(tmp_path / "shard_000")
    shard.path.mkdir()
    remember(shard, BASIS, _found(3), now=1000)
    path = shard.index / "last_look.json"
    inode = path.stat().st_ino
    recall(shard, BASIS, now=2000)
    assert path.stat().st_ino == inode
    assert recall(shard, last_look.Basis("blake2b:1", Layout(num_shards=1), 3, False, "r", "f")) is None
