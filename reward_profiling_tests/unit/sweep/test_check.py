"""A check passes on what is sound, finds each kind of damage where it is, and changes nothing."""

from collections.abc import Callable
from pathlib import Path

import orjson
import polars as pl
import pytest

from reward_profiling.launch.check_ledgers import check_ledgers
from reward_profiling.launch.ledger import Event, record
from reward_profiling.sweep.check import check_sweep
from reward_profiling.sweep.completeness import Plan, load_plan, look
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.materialize import materialize
from reward_profiling.sweep.report import read_report, write_report
from reward_profiling.sweep.reshard import reshard
from reward_profiling.sweep.settle import Consent
from reward_profiling.sweep.switch import changing
from reward_profiling.sweep.tasks import write_tasks
from reward_profiling_tests.collected import collect_some
from reward_profiling_tests.sweeps import append, entry, failure, request, rollout, source_row, tiny_plan, write_rows


def again(plan: Plan, num_shards: int) -> Plan:
    with changing(plan.sweep):
        reshard(plan, num_shards, lambda before, after: None, lambda line: None)
    return load_plan(plan.sweep, {})


def findings(plan: Plan) -> dict[str, list[str]]:
    """Findings by the name of the check, of the checks that fail."""
    return {each.name: each.findings for each in [*check_sweep(plan), check_ledgers(plan)] if not each.ok}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A sweep of three shards that was resharded twice while it was collected; the index is up to date."""
    plan = tiny_plan(tmp_path, tasks=5, repeats=2, num_shards=4)
    for seed, num_shards in ((1, 2), (2, 3)):
        collect_some(plan, seed, share=0.3)
        plan = again(plan, num_shards)
    for number in range(3):
        look(plan, number)
    return plan


def test_a_sound_sweep_passes_and_nothing_is_touched(plan: Plan) -> None:
    append(plan.sweep.shard(0).rollouts, rollout((0, 0))[:-9])  # a torn tail is work still owed
    plan.sweep.shard(3).index.mkdir(parents=True)  # and this is what a reader left who came too late
    before = {path: path.stat() for path in plan.sweep.path.rglob("*")}
    assert findings(plan) == {}
    after = {path: path.stat() for path in plan.sweep.path.rglob("*")}
    assert {path: (stat.st_mtime_ns, stat.st_ino) for path, stat in after.items()} == {
        path: (stat.st_mtime_ns, stat.st_ino) for path, stat in before.items()
    }
    assert all(each.looked_at for each in check_sweep(plan))


@pytest.mark.parametrize("layout", [Layout(num_shards=3), Layout(num_shards=3, deal="row", shuffle=2)])
def test_rows_that_were_encoded_again_are_compared_with_their_dataset(tmp_path: Path, layout: Layout) -> None:
    made = entry(tmp_path, "alpha", 3, agent_ref_override="agent_b")
    materialize(request([made], layout=layout), tmp_path / "sweeps")
    plan = load_plan(SweepDir(tmp_path / "sweeps" / "tiny"), {})
    assert findings(plan) == {}
    _replace(plan.sweep.shard(0).work_list, b"question", b"QUESTION")
    assert list(findings(plan)) == ["work lists"]
    made.data.unlink()
    assert findings(plan) == {}


def _replace(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def _first_line(path: Path) -> bytes:
    return path.read_bytes().splitlines(keepends=True)[0]


def _shard_with_rollouts(plan: Plan) -> ShardDir:
    shards = [plan.sweep.shard(number) for number in range(3)]
    return next(shard for shard in shards if shard.rollouts.stat().st_size)


def _lose_a_rollout(plan: Plan) -> None:
    shard = _shard_with_rollouts(plan)
    shard.rollouts.write_bytes(b"".join(shard.rollouts.read_bytes().splitlines(keepends=True)[1:]))


def _change_a_rollout(plan: Plan) -> None:
    _replace(_shard_with_rollouts(plan).rollouts, b'"output_tokens":3', b'"output_tokens":4')


def _lose_failures(plan: Plan) -> None:
    for number in range(3):
        plan.sweep.shard(number).failures.write_bytes(b"")


def _misplace(plan: Plan) -> None:
    append(plan.sweep.shard(0).rollouts, rollout((1, 0)))


def _double(plan: Plan) -> None:
    shard = _shard_with_rollouts(plan)
    append(shard.rollouts, _first_line(shard.rollouts))


def _break(plan: Plan) -> None:
    append(_shard_with_rollouts(plan).rollouts, b"{broken\n")


def _no_key(plan: Plan) -> None:
    append(_shard_with_rollouts(plan).rollouts, b'{"reward":1.0}\n')


def _misplace_a_failure(plan: Plan) -> None:
    append(plan.sweep.shard(0).failures, failure((1, 0)))


def _swap_lines(plan: Plan) -> None:
    first, second = plan.sweep.shard(0).work_list, plan.sweep.shard(1).work_list
    one, other = _first_line(first), _first_line(second)
    _replace(first, one, other)
    _replace(second, other, one)


def _another_agent(plan: Plan) -> None:
    _replace(plan.sweep.shard(0).work_list, b'"agent_a"', b'"agent_b"')


def _another_label(plan: Plan) -> None:
    _replace(plan.sweep.shard(0).work_list, b'"_ng_sweep_label":"alpha"', b'"_ng_sweep_label":"gamma"')


def _other_bytes(plan: Plan) -> None:
    _replace(plan.sweep.shard(0).work_list, b"question", b"QUESTION")


def _cut_a_work_list(plan: Plan) -> None:
    path = plan.sweep.shard(2).work_list
    path.write_bytes(path.read_bytes()[:-100])


def _drop_a_shard(plan: Plan) -> None:
    plan.sweep.shard(1).path.rename(plan.sweep.path / "elsewhere")


def _another_shard(plan: Plan) -> None:
    plan.sweep.shard(3).path.mkdir()
    append(plan.sweep.shard(3).rollouts, rollout((0, 0)))


def _wrong_range(plan: Plan) -> None:
    report = read_report(plan.sweep)
    first = report.entries[0].model_copy(update={"task_index_range": (0, 4), "tasks": 4})
    write_report(plan.sweep, report.model_copy(update={"entries": (first, *report.entries[1:])}))


def _renumber(plan: Plan) -> None:
    table = plan.tasks.with_columns(content_hash=pl.col("content_hash").reverse())
    write_tasks(plan.sweep.tasks, table, plan.report.tasks_digest)


def _spoil_the_index(plan: Plan) -> None:
    shard = _shard_with_rollouts(plan)
    (segment,) = shard.index.glob("rollouts-*.parquet")
    pl.read_parquet(segment).with_columns(masked=~pl.col("masked")).write_parquet(segment)


def _spoil_the_numbers(plan: Plan) -> None:
    shard = _shard_with_rollouts(plan)
    (segment,) = shard.index.glob("rollouts-*.parquet")
    pl.read_parquet(segment).with_columns(numbers=pl.lit(b'[false,{"reward":9},{}]')).write_parquet(segment)


@pytest.mark.parametrize(
    ("damage", "failing"),
    [
        (_lose_a_rollout, {"snapshots"}),
        (_change_a_rollout, {"snapshots", "index"}),
        (_lose_failures, {"snapshots"}),
        (_misplace, {"rollouts"}),
        (_double, {"rollouts"}),
        (_break, {"rollouts"}),
        (_no_key, {"rollouts"}),
        (_misplace_a_failure, {"failures"}),
        (_swap_lines, {"work lists"}),
        (_another_agent, {"work lists"}),
        (_another_label, {"work lists"}),
        (_other_bytes, {"work lists"}),
        (_cut_a_work_list, {"work lists", "shards"}),
        (_drop_a_shard, {"work lists", "shards", "snapshots"}),
        (_another_shard, {"shards"}),
        (_wrong_range, {"labels", "counts", "shards"}),
        (_renumber, {"labels", "work lists"}),
        (_spoil_the_index, {"index"}),
        (_spoil_the_numbers, {"index"}),
    ],
)
def test_each_kind_of_damage_is_found(plan: Plan, damage: Callable[[Plan], None], failing: set[str]) -> None:
    damage(plan)
    found = findings(load_plan(plan.sweep, {}))
    # The index notices a change of its file only where its fingerprint, the ends of what it has read, differs.
    assert found.keys() - {"index"} == failing - {"index"}
    assert "index" in found or failing != {"index"}


def test_findings_name_the_place_and_the_keys(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    append(plan.sweep.shard(0).rollouts, *[rollout((1, 0))] * 5)
    assert findings(plan) == {
        "rollouts": [
            f"{plan.sweep.shard(0).rollouts}: 5 rows are of other shards or of no task: 1:0, 1:0, 1:0 and 2 more",
            f"{plan.sweep.shard(0).rollouts}: 4 rows have a key that is there already",
        ]
    }


def test_what_was_discarded_is_not_missed(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    collect_some(plan, 1)
    plan = again(plan, 3)
    rows = [source_row("beta", number) for number in range(2)]
    other = [entry(tmp_path / "data", "alpha", 1), entry(tmp_path / "data", "beta", 2)]
    write_rows(other[1].data, rows)
    materialize(request(other), tmp_path / "sweeps", consent=Consent(discard_rollouts=True))
    plan = load_plan(plan.sweep, {})
    assert findings(plan) == {}
    records = sorted(plan.sweep.snapshots.glob("*/snapshot.json"))
    assert [orjson.loads(path.read_bytes())["reason"] for path in records] == ["reshard", "discard"]


def test_ledgers_must_be_possible(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shard, other = plan.sweep.shard(0), plan.sweep.shard(1)
    job = {"job_id": "7", "job_name": "x", "scheduler": "slurm", "outstanding": 1, "rows": 0}
    end = {"job_id": "7", "state": "FAILED", "reason": "", "outstanding": 1, "rows": 0, "nodes": []}
    record(shard, Event.SUBMITTING, 1.0, attempt=1)
    record(shard, Event.SUBMITTED, 2.0, attempt=1, **job)
    record(shard, Event.ENDED, 3.0, attempt=1, **end)
    record(shard, Event.RESHARDED, 4.0, attempt=6, jobs=["7"])
    record(shard, Event.SUBMITTING, 5.0, attempt=7)
    record(shard, Event.REFUSED, 6.0, attempt=7, reason="")
    record(shard, Event.SUBMITTING, 7.0, attempt=8)
    record(shard, Event.ADOPTED, 8.0, attempt=8, **job | {"job_id": "8"})
    shard.attempt_logs(8).mkdir(parents=True)
    assert findings(plan) == {}
    record(shard, Event.SUBMITTING, 9.0, attempt=8)
    record(shard, Event.SUBMITTED, 10.0, attempt=9, **job | {"job_id": "9"})
    record(shard, Event.ENDED, 11.0, attempt=4, **end)
    record(other, Event.SUBMITTED, 12.0, attempt=1, **job)
    record(other, Event.ENDED, 13.0, attempt=1, **end)
    record(other, Event.ENDED, 14.0, attempt=1, **end)
    shard.attempt_logs(11).mkdir()
    found = findings(plan)["ledgers"]
    assert [text.split(": ", 1)[1] for text in found] == [
        "attempt 8 comes after attempt 8",
        "attempt 9 began before attempt 8 ended",
        "attempt 4 ended and never began",
        "attempt_011 is of no attempt of the ledger",
        "attempt 1 ended twice",
        "job 7 is in the ledger of shard_000 too",
    ]
