"""The index looks at new bytes only, and starts over on any doubt."""

import shutil
from pathlib import Path

import orjson
import pytest

from reward_profiling.errors import SweepError
from reward_profiling.sweep import rollout_index
from reward_profiling.sweep.index_rows import Kind, RangeRows, read_range
from reward_profiling.sweep.numbers import read_numbers
from reward_profiling.sweep.rollout_index import read_index
from reward_profiling.sweep.workers import Advance
from reward_profiling_tests.sweeps import append, failure, rollout, tiny_plan


def _keys(index: rollout_index.RolloutIndex) -> list[tuple[int, int]]:
    return list(index.rollouts.select("task_index", "rollout_index").iter_rows())


def test_only_new_bytes_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = tiny_plan(tmp_path).sweep.shard(0)
    append(shard.rollouts, rollout((0, 0)))
    append(shard.failures, failure((0, 1)))
    read_index(shard)
    starts: list[int] = []

    def watched(advance: Advance, path: Path, kind: Kind, start: int, end: int) -> RangeRows:
        starts.append(start)
        return read_range(advance, path, kind, start, end)

    monkeypatch.setattr(rollout_index, "read_range", watched)
    read_index(shard)
    assert starts == []
    append(shard.rollouts, rollout((0, 1)))
    index = read_index(shard)
    assert starts == [len(rollout((0, 0)))]
    assert _keys(index) == [(0, 0), (0, 1)]
    assert index.bytes_read == shard.rollouts.stat().st_size + shard.failures.stat().st_size


def test_offsets_and_numbers_are_those_of_the_rows(tmp_path: Path) -> None:
    shard = tiny_plan(tmp_path).sweep.shard(0)
    lines = [rollout((0, 0), 0.25, note="é"), b"\n", rollout((0, 1), 0.75)]
    append(shard.rollouts, *lines)
    index = read_index(shard, numbers=True)
    content = shard.rollouts.read_bytes()
    found = [content[o : o + n] for o, n in index.rollouts.select("offset", "length").iter_rows()]
    assert found == [lines[0], lines[2]]
    assert [read_numbers(record).columns() for record in index.rollouts["numbers"]] == [
        {"reward": 0.25, "output_tokens": 3},
        {"reward": 0.75, "output_tokens": 3},
    ]


@pytest.mark.parametrize("what", ["truncated", "replaced", "longer", "state lost", "segment lost", "segment broken"])
def test_any_doubt_builds_it_anew(tmp_path: Path, what: str) -> None:
    shard = tiny_plan(tmp_path).sweep.shard(0)
    append(shard.rollouts, rollout((0, 0)), rollout((0, 1)))
    append(shard.failures, failure((2, 0)))
    read_index(shard)
    expected = [(0, 0), (0, 1)]
    match what:
        case "truncated":
            shard.rollouts.write_bytes(rollout((0, 0)))
            expected = [(0, 0)]
        case "replaced":
            shard.rollouts.write_bytes(rollout((2, 0)) + rollout((2, 1)))
            expected = [(2, 0), (2, 1)]
        case "longer":
            shard.rollouts.write_bytes(rollout((2, 0)) + rollout((2, 1)) + rollout((4, 0)))
            expected = [(2, 0), (2, 1), (4, 0)]
        case "state lost":
            (shard.index / "state.json").write_bytes(b"{")
        case "segment lost":
            next(shard.index.glob("rollouts-*.parquet")).unlink()
        case "segment broken":
            next(shard.index.glob("rollouts-*.parquet")).write_bytes(b"PAR1")
    index = read_index(shard)
    assert _keys(index) == expected
    assert index.failures.height == 1


def test_vanished_rollouts_are_an_error(tmp_path: Path) -> None:
    shard = tiny_plan(tmp_path).sweep.shard(0)
    append(shard.rollouts, rollout((0, 0)))
    read_index(shard)
    shard.rollouts.unlink()
    with pytest.raises(SweepError, match="collected rows have vanished"):
        read_index(shard)


def test_segments_stay_few_and_no_file_is_left_over(tmp_path: Path) -> None:
    shard = tiny_plan(tmp_path, tasks=40, repeats=4).sweep.shard(0)
    keys = [(task, repeat) for task in range(0, 80, 2) for repeat in range(4)]
    for key in keys:
        append(shard.rollouts, rollout(key))
        index = read_index(shard)
    assert _keys(index) == keys
    segments = index.state.rollouts.segments
    assert len(segments) <= 9
    assert {path.name for path in shard.index.glob("*.parquet")} == {segment.name for segment in segments}


def test_several_processes_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = tiny_plan(tmp_path, tasks=40, repeats=4).sweep.shard(0)
    keys = [(task, repeat) for task in range(0, 80, 2) for repeat in range(4)]
    append(shard.rollouts, *(rollout(key, note="x" * key[0]) for key in keys), b"{broken\n", rollout((0, 0))[:-9])
    append(shard.failures, failure((2, 0)), b"{}\n")
    alone = read_index(shard, numbers=True)
    shutil.rmtree(shard.index)
    monkeypatch.setattr(rollout_index, "_RANGE_BYTES", 1000)
    monkeypatch.setattr(rollout_index, "_MANY_BYTES", 0)
    monkeypatch.setattr(rollout_index, "_SEGMENT_ROWS", 30)
    several = read_index(shard, numbers=True)
    assert several.rollouts.equals(alone.rollouts)
    assert several.failures.equals(alone.failures)
    assert (several.broken, several.bytes_read) == (alone.broken, alone.bytes_read)


def test_what_is_written_behind_a_torn_line_meanwhile_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = tiny_plan(tmp_path).sweep.shard(0)
    torn = rollout((0, 1), note="x" * 300)
    append(shard.rollouts, rollout((0, 0)), torn[:200])

    def slowly(advance: Advance, path: Path, kind: Kind, start: int, end: int) -> RangeRows:
        found = read_range(advance, path, kind, start, end)
        if found.torn and shard.rollouts.stat().st_size < 400:
            append(shard.rollouts, torn[200:], rollout((2, 0)), rollout((2, 1)))
        return found

    monkeypatch.setattr(rollout_index, "_RANGE_BYTES", 50)
    monkeypatch.setattr(rollout_index, "read_range", slowly)
    assert _keys(read_index(shard)) == [(0, 0)]
    assert _keys(read_index(shard)) == [(0, 0), (0, 1), (2, 0), (2, 1)]


def test_a_key_that_no_task_can_have_is_a_broken_line(tmp_path: Path) -> None:
    shard = tiny_plan(tmp_path).sweep.shard(0)
    keys: list = [(0, 2**63), (2**64 - 1, 0), (True, 0), (0.0, 1), ("0", 1), (None, 0)]
    append(shard.rollouts, *(rollout(key) for key in keys), rollout((0, 1)))
    index = read_index(shard)
    assert _keys(index) == [(0, 1)]
    assert index.broken == len(keys)


def test_keys_are_those_at_the_top_level_whatever_lies_below(tmp_path: Path) -> None:
    shard = tiny_plan(tmp_path).sweep.shard(0)
    inner = {"_ng_task_index": 4, "_ng_rollout_index": 1, "mask_sample": True}
    text = orjson.dumps(inner).decode()
    append(
        shard.rollouts,
        rollout((0, 0), nested=inner, listed=[inner], text=text, response={"usage": inner, "text": text}),
        orjson.dumps({"response": inner, "text": text}) + b"\n",
    )
    index = read_index(shard)
    assert _keys(index) == [(0, 0)]
    assert (index.broken, index.rollouts["masked"].to_list()) == (1, [False])


def test_a_line_of_any_length_is_a_row(tmp_path: Path) -> None:
    shard = tiny_plan(tmp_path).sweep.shard(0)
    append(shard.rollouts, rollout((0, 0)), rollout((0, 1), note="x" * (100 << 20)), rollout((2, 0)))
    assert _keys(read_index(shard)) == [(0, 0), (0, 1), (2, 0)]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    shard = tiny_plan(tmp_path).sweep.shard(0)
    append(shard.rollouts, rollout((0, 0)))
    read_index(shard)
    left = [shard.index / ".rollouts-1-ab.parquet.99.cd.tmp", shard.index / ".state.json.99.cd.tmp"]
    for path in left:
        path.touch()
    append(shard.rollouts, rollout((0, 1)))
    read_index(shard)
    assert not [path for path in left if path.exists()]
