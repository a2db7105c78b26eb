"""Another number of shards: everything that was collected goes along, and a change is whole or not there at all."""

import shutil
from pathlib import Path

import orjson
import pytest

from reward_profiling.errors import BadInputError, StorageError, SweepError
from reward_profiling.files import read_json_lines
from reward_profiling.sweep import carry, completeness, switch
from reward_profiling.sweep.completeness import Plan, load_plan, look
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.index_state import IndexState
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.materialize import materialize
from reward_profiling.sweep.report import SettingReport, read_report
from reward_profiling.sweep.reshard import reshard
from reward_profiling.sweep.status import Counts, total
from reward_profiling.sweep.switch import changing, recover
from reward_profiling_tests.collected import collect_some, sweep_holds
from reward_profiling_tests.sweeps import append, entry, failure, request, rollout, tiny_plan


def again(plan: Plan, num_shards: int) -> Plan:
    """Reshard and load the plan anew."""
    with changing(plan.sweep):
        recover(plan.sweep)
        reshard(plan, num_shards, lambda before, after: None, lambda line: None)
    return load_plan(plan.sweep, {})


def counts(plan: Plan) -> dict[str, Counts]:
    statuses = [look(plan, number) for number in range(plan.report.num_shards)]
    assert all(status.foreign + status.duplicates + status.broken == 0 for status in statuses)
    labels = [each.label for each in plan.report.entries]
    return {label: total(status.by_label.get(label, Counts()) for status in statuses) for label in labels}


@pytest.mark.parametrize("layout", [Layout(num_shards=4), Layout(num_shards=4, deal="row", shuffle=3)])
def test_the_sequence_4_7_2_9_3_5_keeps_everything(tmp_path: Path, layout: Layout) -> None:
    entries = [entry(tmp_path / "data", "alpha", 9, repeats=3), entry(tmp_path / "data", "beta", 4, repeats=2)]
    materialize(request(entries, layout=layout), tmp_path / "sweeps")
    plan = load_plan(SweepDir(tmp_path / "sweeps" / "tiny"), {})
    for seed, num_shards in enumerate((7, 2, 9, 3, 5)):
        collect_some(plan, seed, share=0.2)
        held, counted = sweep_holds(plan), counts(plan)
        plan = again(plan, num_shards)
        assert plan.report.layout == layout.model_copy(update={"num_shards": num_shards})
        assert (sweep_holds(plan), counts(plan)) == (held, counted)
    assert sum(each.succeeded for each in counts(plan).values()) > 10


@pytest.mark.parametrize("layout", [Layout(num_shards=4), Layout(num_shards=4, deal="row", shuffle=3)])
def test_work_lists_are_those_of_a_sweep_that_was_dealt_so_from_the_start(tmp_path: Path, layout: Layout) -> None:
    entries = [entry(tmp_path / "data", "alpha", 9, repeats=3), entry(tmp_path / "data", "beta", 4, repeats=2)]
    materialize(request(entries, layout=layout), tmp_path / "one")
    materialize(request(entries, layout=layout.model_copy(update={"num_shards": 3})), tmp_path / "two")
    shutil.rmtree(tmp_path / "data")  # the datasets are not needed
    plan = again(load_plan(SweepDir(tmp_path / "one" / "tiny"), {}), 3)
    for number in range(3):
        shard, other = plan.sweep.shard(number), SweepDir(tmp_path / "two" / "tiny").shard(number)
        assert shard.work_list.read_bytes() == other.work_list.read_bytes()
        assert shard.record.read_bytes() == other.record.read_bytes()
    assert not (plan.sweep.shards / "shard_003").exists()


def test_the_snapshot_keeps_what_was_collected_and_drops_what_can_be_made_again(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    collect_some(plan, 1)
    before = {n: plan.sweep.shard(n).rollouts.read_bytes() for n in range(2)}
    report = plan.sweep.report.read_bytes()
    again(plan, 3)
    (snapshot,) = plan.sweep.snapshots.iterdir()
    old = SweepDir(snapshot)
    assert {n: old.shard(n).rollouts.read_bytes() for n in range(2)} == before
    assert old.report.read_bytes() == report
    assert not list(snapshot.rglob("rollouts_materialized_inputs.jsonl")) + list(snapshot.rglob("rollout_index"))
    assert orjson.loads((snapshot / "snapshot.json").read_bytes())["reason"] == "reshard"


def test_what_is_no_shards_own_ends_in_rejected_and_goes_along(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    shard = plan.sweep.shard(0)
    torn, foreign = rollout((2, 0))[:-9], rollout((1, 0))
    append(shard.rollouts, rollout((0, 0)), rollout((0, 0), 0.0), foreign, torn)
    unowned = [failure((1, 1)), failure((99, 0)), b'{"_ng_failure_class":"no key"}\n']
    append(shard.failures, unowned[0], b"\n", failure((0, 1)), *unowned[1:])
    plan = again(plan, 3)
    plan = again(plan, 1)
    rejected = {each["line"].encode() for each in read_json_lines(plan.sweep.shard(0).rejected)}
    assert rejected == {rollout((0, 0), 0.0), foreign, torn, *unowned}
    assert plan.sweep.shard(0).failures.read_bytes() == failure((0, 1))
    assert plan.sweep.shard(0).rollouts.read_bytes() == rollout((0, 0))


def test_the_report_says_what_it_became_and_keeps_the_rest(tmp_path: Path) -> None:
    entries = [entry(tmp_path / "data", "alpha", 3)]
    settings = tuple(SettingReport(name=name, value=2, origin="manifest") for name in ("num_shards", "x"))
    made = materialize(request(entries, settings=settings), tmp_path / "sweeps")
    plan = again(load_plan(SweepDir(tmp_path / "sweeps" / "tiny"), {}), 5)
    resharded = SettingReport(name="num_shards", value=5, origin="reshard")
    assert plan.report == made.model_copy(update={"num_shards": 5, "settings": (resharded, settings[1])})


def test_rows_stay_as_old_as_they_are(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    collect_some(plan, 1)
    before = max(look(plan, number).last_row_at or 0 for number in range(2))
    plan = again(plan, 3)
    assert max(look(plan, number).last_row_at or 0 for number in range(3)) == pytest.approx(before)


def test_the_same_number_changes_nothing(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    again(plan, 2)
    assert not plan.sweep.snapshots.exists()
    with pytest.raises(BadInputError, match="0 shards are none"):
        again(plan, 0)


def test_a_plan_of_before_is_refused_afterwards(tmp_path: Path) -> None:
    old = tiny_plan(tmp_path)
    again(old, 1)
    with pytest.raises(SweepError, match="another task table or layout; start again if the sweep has just been"):
        look(old, 0)
    with pytest.raises(SweepError, match="this sweep has been resharded meanwhile; start again"):
        look(old, 1)
    assert not old.sweep.shard(1).path.exists()


def test_a_reshard_between_two_steps_of_a_look_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tiny_plan(tmp_path)
    update = completeness.update_index

    def late(shard: ShardDir) -> IndexState:
        monkeypatch.undo()
        again(plan, 1)
        return update(shard)

    for number, message in ((0, "another task table or layout"), (1, "resharded meanwhile")):
        monkeypatch.setattr(completeness, "update_index", late)
        with pytest.raises(SweepError, match=message):
            look(plan, number)
        assert not (plan.sweep.shards / "shard_001").exists()
        again(load_plan(plan.sweep, {}), 2)


def test_a_damaged_work_list_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    work = plan.sweep.shard(1).work_list
    work.write_bytes(work.read_bytes().replace(b'"_ng_rollout_index":1', b'"_ng_rollout_index":7', 1))
    with pytest.raises(SweepError, match="does not hold rollout 1 of task 1 where it should"):
        again(plan, 3)
    work.write_bytes(b"")
    with pytest.raises(SweepError, match="has 0 bytes instead of"):
        again(plan, 3)
    assert read_report(plan.sweep).num_shards == 2
    assert not plan.sweep.next.path.exists()


def test_a_disk_that_refuses_leaves_the_old_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tiny_plan(tmp_path)
    collect_some(plan, 1)
    held = sweep_holds(plan)

    def refuse(*_: object) -> None:
        raise StorageError("No space left on device")

    monkeypatch.setattr(carry, "write_shard_record", refuse)
    with pytest.raises(StorageError):
        again(plan, 3)
    assert sweep_holds(load_plan(plan.sweep, {})) == held
    assert not plan.sweep.next.path.exists()


@pytest.mark.parametrize("steps", range(8))
def test_a_switch_that_stops_at_any_step_is_refused_everywhere_and_then_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    plan = tiny_plan(tmp_path)
    collect_some(plan, 1)
    held = sweep_holds(plan)
    left = iter(range(steps))
    with monkeypatch.context() as patch:
        for owner, name in ((Path, "rename"), (switch.os, "replace"), (Path, "unlink"), (switch.shutil, "rmtree")):
            patch.setattr(owner, name, _until(getattr(owner, name), left))
        with pytest.raises(KeyboardInterrupt):
            again(plan, 3)
    if plan.sweep.journal.exists():
        with pytest.raises(SweepError, match=r"finish its work: `reward-profiling reshard .* --num-shards 3`"):
            load_plan(plan.sweep, {})
        entries = [entry(tmp_path / "data", label, 3) for label in ("alpha", "beta")]
        with pytest.raises(SweepError, match="one layout is taking the place of another"):
            materialize(request(entries), tmp_path / "sweeps")
    with changing(plan.sweep):
        recover(plan.sweep)
    plan = load_plan(plan.sweep, {})
    if plan.report.num_shards == 2:
        plan = again(plan, 3)
    assert sweep_holds(plan) == held
    assert not plan.sweep.journal.exists()
    assert not plan.sweep.next.path.exists()


def _until(function: object, left: object) -> object:
    """The function, until nothing is left; then an end as sudden as a kill's."""

    def called(*arguments: object, **options: object) -> object:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    return called


def test_what_a_late_reader_makes_in_the_way_does_not_stop_a_switch(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    collect_some(plan, 1)
    held = sweep_holds(plan)
    rename = Path.rename

    def with_a_late_reader(self: Path, target: Path) -> Path:
        moved = rename(self, target)
        if target.name == "shards":
            (plan.sweep.shard(0).index / "lock").parent.mkdir(parents=True)
            (plan.sweep.shard(0).index / "lock").touch()
        return moved

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", with_a_late_reader)
        plan = again(plan, 3)
    assert sweep_holds(plan) == held


def test_only_one_process_changes_a_sweep_at_a_time(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    entries = [entry(tmp_path / "data", label, 3) for label in ("alpha", "beta")]
    with changing(plan.sweep):
        with pytest.raises(SweepError, match="another process is changing this sweep; run again when it has ended"):
            again(plan, 3)
        with pytest.raises(SweepError, match="another process is changing this sweep"):
            materialize(request(entries), tmp_path / "sweeps")
    with pytest.raises(SweepError, match="there is no such directory"), changing(SweepDir(tmp_path / "nowhere")):
        pass
    assert not (tmp_path / "nowhere").exists()
