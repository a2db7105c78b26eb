"""A materialized sweep holds each (task, repeat) once, in its shard, with the bytes of its source."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from reward_profiling.errors import DatasetError, SweepError
from reward_profiling.sweep import work_list as work_list_module
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.materialize import Effort, materialize, stage_shards
from reward_profiling.sweep.progress import ProgressLines
from reward_profiling.sweep.report import read_report
from reward_profiling.sweep.settle import Consent
from reward_profiling.sweep.tasks import read_tasks
from reward_profiling_tests.sweeps import (
    entry,
    keys_of_shard,
    request,
    source_row,
    tiny_plan,
    work_list,
    write_rows,
)


def test_tasks_are_dealt_with_all_repeats_next_to_each_other(tmp_path: Path) -> None:
    sweep = tiny_plan(tmp_path, tasks=3, repeats=2, num_shards=2).sweep
    assert keys_of_shard(sweep.shard(0)) == [(0, 0), (0, 1), (2, 0), (2, 1), (4, 0), (4, 1)]
    assert keys_of_shard(sweep.shard(1)) == [(1, 0), (1, 1), (3, 0), (3, 1), (5, 0), (5, 1)]
    assert [row["_ng_sweep_label"] for row in work_list(sweep.shard(1))] == ["alpha"] * 2 + ["beta"] * 4


def test_the_bytes_of_a_row_survive(tmp_path: Path) -> None:
    text = (
        '{"responses_create_params": {"input": "x \\u00e9 é"}, "big": 123456789012345678901234567890, "e": 1.50e+07,'
        ' "agent_ref": {"name": "agent_a"}, "nested": {"_ng_task_index": 7} }'
    )
    plan = entry(tmp_path, "alpha", 1, repeats=2)
    plan.data.write_text(text)
    materialize(request([plan], num_shards=1), tmp_path / "sweeps")
    lines = SweepDir(tmp_path / "sweeps" / "tiny").shard(0).work_list.read_text().splitlines()
    keys = '"_ng_sweep_label":"alpha","_ng_task_index":0,"_ng_rollout_index":'
    assert lines == [f"{text[:-1]},{keys}{repeat}}}" for repeat in range(2)]


def test_our_keys_are_replaced_and_an_agent_overridden(tmp_path: Path) -> None:
    row = source_row("a", 0, "agent_b") | {
        "_ng_task_index": 9,
        "_ng_rollout_index": 4,
        "_ng_sweep_label": "x",
        "n": 2**70,
    }
    plan = entry(tmp_path, "alpha", 1, repeats=1, agent_ref_override="agent_c")
    plan.data.write_text(orjson.dumps(row | {"n": 0}).decode().replace('"n":0', f'"n":{2**70}'))
    materialize(request([plan], num_shards=1), tmp_path / "sweeps")
    sweep = SweepDir(tmp_path / "sweeps" / "tiny")
    text = sweep.shard(0).work_list.read_text()
    assert text.count("_ng_task_index") == 1
    assert str(2**70) in text
    made = work_list(sweep.shard(0))[0]
    assert (made["_ng_sweep_label"], made["_ng_task_index"], made["_ng_rollout_index"]) == ("alpha", 0, 0)
    assert made["agent_ref"] == {"type": "responses_api_agents", "name": "agent_c"}
    assert read_report(sweep).entries[0].agent == "agent_c"


def test_the_report_says_what_is_there(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path, tasks=3, repeats=2, num_shards=2)
    report = read_report(plan.sweep)
    assert [(e.label, e.rows, e.tasks, e.task_index_range) for e in report.entries] == [
        ("alpha", 3, 3, (0, 3)),
        ("beta", 3, 3, (3, 6)),
    ]
    assert (report.tasks, report.rollouts) == (6, 12)
    tasks = read_tasks(plan.sweep.tasks, report.tasks_digest)
    assert tasks.filter(label="beta")["task_index"].to_list() == [3, 4, 5]


def test_a_shard_is_rebuilt_alone_with_identical_bytes(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shard = plan.sweep.shard(1)
    before = shard.work_list.read_bytes()
    shard.work_list.unlink()
    (tmp_path / "data" / "unrelated").touch()
    ((number, record),) = stage_shards(plan.sweep, [1])
    assert number == 1
    assert shard.work_list.read_bytes() == before
    assert record.work_list_bytes == len(before)


def test_a_source_that_changed_after_indexing_is_refused(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    plan.sweep.shard(1).work_list.unlink()
    data = tmp_path / "data" / "alpha.jsonl"
    data.write_bytes(data.read_bytes().replace(b"question 1", b"question 7"))
    with pytest.raises(DatasetError, match="no longer the one that was indexed"):
        list(stage_shards(plan.sweep, [1]))
    assert not plan.sweep.shard(1).work_list.exists()
    assert not list(plan.sweep.shard(1).path.glob(".*tmp"))


def test_report_and_task_table_must_belong_together(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path / "one")
    other = tiny_plan(tmp_path / "two", tasks=4)
    plan.sweep.tasks.write_bytes(other.sweep.tasks.read_bytes())
    plan.sweep.shard(1).work_list.unlink()
    with pytest.raises(SweepError, match="not the one of the sweep report"):
        list(stage_shards(plan.sweep, [1]))


def test_a_dataset_with_two_entries_keeps_task_order(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "same.jsonl", [source_row("s", number) for number in range(3)])
    first, middle, last = (entry(tmp_path / "d", label, 2, 1) for label in ("a", "b", "c"))
    shared = [
        type(first)(plan.label, "agent_a", data, 1) if plan is not middle else middle for plan in (first, middle, last)
    ]
    materialize(request(shared, num_shards=1), tmp_path / "sweeps")
    shard = SweepDir(tmp_path / "sweeps" / "tiny").shard(0)
    assert [key[0] for key in keys_of_shard(shard)] == list(range(8))


def _work_lists(folder: Path, jobs: int = 1, **changes: Any) -> list[bytes]:
    """The work lists of a sweep of two entries in three shards, materialized under `folder`."""
    layout = Layout(num_shards=3, **changes)
    entries = [entry(folder.parent / "data", "alpha", 7, 3), entry(folder.parent / "data", "beta", 4, 2)]
    materialize(request(entries, layout=layout), folder, effort=Effort(jobs))
    sweep = SweepDir(folder / "tiny")
    return [sweep.shard(number).work_list.read_bytes() for number in range(3)]


@pytest.mark.parametrize("changes", [{}, {"deal": "row"}, {"shuffle": 5}])
def test_several_processes_write_what_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    alone = _work_lists(tmp_path / "one", **changes)
    monkeypatch.setattr(work_list_module, "_ALONE_BYTES", 0)
    assert _work_lists(tmp_path / "two", jobs=2, **changes) == alone


def test_rows_are_dealt_one_by_one_on_request(tmp_path: Path) -> None:
    by_task, by_row = _work_lists(tmp_path / "task"), _work_lists(tmp_path / "row", deal="row")
    rows = sorted(b"".join(by_task).splitlines(), key=lambda line: _key(line))
    assert [content.splitlines() for content in by_row] == [rows[number::3] for number in range(3)]


def test_a_shuffle_mixes_environments_and_keeps_repeats_together(tmp_path: Path) -> None:
    plain, shuffled = _work_lists(tmp_path / "plain"), _work_lists(tmp_path / "shuffled", shuffle=1)
    for before, after in zip(plain, shuffled, strict=True):
        assert sorted(after.splitlines()) == sorted(before.splitlines())
        keys = [_key(line) for line in after.splitlines()]
        tasks = list(dict.fromkeys(task for task, _ in keys))
        assert sorted(keys, key=lambda key: (tasks.index(key[0]), key[1])) == keys
    labels = [orjson.loads(line)["_ng_sweep_label"] for line in shuffled[0].splitlines()]
    assert labels != sorted(labels)


def _key(line: bytes) -> tuple[int, int]:
    row = orjson.loads(line)
    return row["_ng_task_index"], row["_ng_rollout_index"]


def test_a_shard_of_another_layout_is_written_again(tmp_path: Path) -> None:
    entries = [entry(tmp_path / "data", "alpha", 6)]
    materialize(request(entries, num_shards=2), tmp_path / "sweeps")
    materialize(request(entries, num_shards=3), tmp_path / "sweeps", consent=Consent(overwrite=True))
    sweep = SweepDir(tmp_path / "sweeps" / "tiny")
    keys = [key for number in range(3) for key in keys_of_shard(sweep.shard(number))]
    assert sorted(keys) == [(task, repeat) for task in range(6) for repeat in range(2)]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shard = plan.sweep.shard(1)
    left = shard.work_list.with_name(f".{shard.work_list.name}.999.abcd.tmp")
    left.touch()
    shard.record.unlink()
    list(stage_shards(plan.sweep, [1]))
    assert not left.exists()


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    heard: list[tuple[str, int]] = []

    class Listener:
        def begin(self, what: str, total: int) -> None:
            heard.append((what, total))

        def at(self, done: int) -> None:
            heard.append(("", done))

    plan = entry(tmp_path / "data", "alpha", 20)
    materialize(request([plan]), tmp_path / "sweeps", effort=Effort(progress=Listener()))
    size = plan.data.stat().st_size
    written = sum(path.stat().st_size for path in (tmp_path / "sweeps").rglob("*_inputs.jsonl"))
    assert heard[:2] == [("reading datasets", size), ("", size)]
    what, total = heard[2]
    assert what == "writing work lists"
    assert total == pytest.approx(written, rel=0.05)
    assert heard[-1] == ("", written)


def test_progress_lines_come_once_per_period() -> None:
    lines: list[str] = []
    hourly = ProgressLines(lines.append, period=3600)
    hourly.begin("reading", 100)
    hourly.at(50)
    assert lines == []
    always = ProgressLines(lines.append, period=0)
    always.begin("reading", 10**9)
    always.at(5 * 10**8)
    assert lines[0].startswith("reading: 0.5 of 1.0 GB (50 %), ")
