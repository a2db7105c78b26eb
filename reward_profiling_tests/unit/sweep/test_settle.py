"""What may become of a sweep that is there: extended in place, refused with the ways out, or replaced on request."""

from pathlib import Path
from typing import Any

import pytest

from reward_profiling.errors import RefusedError, SweepError
from reward_profiling.sweep.completeness import load_plan, look
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.materialize import SweepRequest, materialize
from reward_profiling.sweep.report import read_report, write_report
from reward_profiling.sweep.settle import Consent, agree_on_meaning
from reward_profiling.sweep.tasks import EntryPlan, pending
from reward_profiling_tests.sweeps import Key, append, entry, failure, keys_of_shard, request, rollout


def _entries(folder: Path, *labels: str, **plan: Any) -> list[EntryPlan]:
    return [entry(folder / "data", label, 3, **plan) for label in labels]


def _files(sweep: SweepDir) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sweep.path.rglob("*") if path.is_file()}


class Place:
    """A sweep of alpha and beta in two shards, with one rollout."""

    def __init__(self, folder: Path, *, collected: Key | None = (4, 1), **changes: Any) -> None:
        self.folder = folder
        self.sweep = SweepDir(folder / "sweeps" / "tiny")
        self.materialize(request(_entries(folder, "alpha", "beta"), **changes))
        if collected is not None:
            append(self.sweep.shard(0).rollouts, rollout(collected))

    def materialize(self, wanted: SweepRequest, **consent: bool) -> None:
        materialize(wanted, self.folder / "sweeps", consent=Consent(**consent))

    def refused(self, wanted: SweepRequest, message: str, **consent: bool) -> None:
        before = _files(self.sweep)
        with pytest.raises(RefusedError, match=message):
            self.materialize(wanted, **consent)
        assert _files(self.sweep) == before


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_same_manifest_again_changes_nothing(place: Place) -> None:
    before = {path: content for path, content in _files(place.sweep).items() if path.suffix == ".jsonl"}
    place.materialize(request(_entries(place.folder, "alpha", "beta")))
    assert {path: _files(place.sweep)[path] for path in before} == before


def test_an_entry_that_is_appended_or_inserted_gets_new_numbers(place: Place) -> None:
    place.materialize(request(_entries(place.folder, "gamma", "alpha", "beta")))
    report = read_report(place.sweep)
    assert {each.label: each.task_index_range for each in report.entries} == {
        "gamma": (6, 9),
        "alpha": (0, 3),
        "beta": (3, 6),
    }
    assert keys_of_shard(place.sweep.shard(0))[-4:] == [(6, 0), (6, 1), (8, 0), (8, 1)]
    status = look(load_plan(place.sweep, {}), 0)
    assert (status.counts.expected, status.counts.succeeded, status.foreign) == (10, 1, 0)
    assert status.by_label["beta"].succeeded == 1


def test_more_repeats_are_new_work_for_old_tasks(place: Place) -> None:
    more = [entry(place.folder / "data", "alpha", 3, repeats=2), entry(place.folder / "data", "beta", 3, repeats=3)]
    place.materialize(request(more))
    assert keys_of_shard(place.sweep.shard(0)) == [(0, 0), (0, 1), (2, 0), (2, 1), (4, 0), (4, 1), (4, 2)]
    counts = look(load_plan(place.sweep, {}), 0).by_label["beta"]
    assert (counts.expected, counts.succeeded, counts.outstanding) == (3, 1, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("fewer repeats", "alpha had 2 repeats and would have 1"),
        ("longer", "alpha had 3 tasks and would have 5"),
        ("other rows", "alpha would have other tasks, another order or another agent"),
        ("other agent", "alpha would have other tasks, another order or another agent"),
        ("gone", "alpha is no longer in the manifest"),
        ("more shards", "the number of shards from 2 to 3"),
        ("by row", "materialize.deal from task to row"),
    ],
)
def test_what_would_renumber_or_orphan_is_refused_whatever_is_agreed_to(
    place: Place, change: str, message: str
) -> None:
    data, layout = place.folder / "other", Layout(num_shards=2)
    alpha, beta = _entries(place.folder, "alpha", "beta")
    match change:
        case "fewer repeats":
            alpha = entry(data, "alpha", 3, repeats=1)
        case "longer":
            alpha = entry(data, "alpha", 5)
        case "other rows":
            alpha = entry(data, "alpha", 3)
            alpha.data.write_bytes(alpha.data.read_bytes().replace(b"question 1", b"question 9"))
        case "other agent":
            alpha = entry(data, "alpha", 3, agent_ref_override="agent_z")
        case "more shards":
            layout = Layout(num_shards=3)
        case "by row":
            layout = Layout(num_shards=2, deal="row")
    entries = [beta] if change == "gone" else [alpha, beta]
    wanted = request(entries, layout=layout)
    cure = (
        "`reward-profiling reshard .* --num-shards 3`"
        if change == "more shards"
        else "give the manifest a new nickname"
    )
    place.refused(wanted, f"{message}; shard_000 has rollouts or attempts already; {cure}")
    place.refused(wanted, message, overwrite=True, accept_mixed=True)


def test_rows_are_never_dealt_anew_by_more_repeats(tmp_path: Path) -> None:
    layout = Layout(num_shards=2, deal="row")
    place = Place(tmp_path, collected=(4, 0), layout=layout)
    more = [entry(tmp_path / "data", "alpha", 3, repeats=3), entry(tmp_path / "data", "beta", 3, repeats=2)]
    place.refused(request(more, layout=layout), "more repeats would deal the rows of later tasks to other shards")
    place.materialize(request(_entries(tmp_path, "alpha", "gamma", "beta"), layout=layout))
    counts = look(load_plan(place.sweep, {}), 0).counts
    assert (counts.expected, counts.succeeded) == (9, 1)


def test_another_order_of_dispatch_is_no_change_of_tasks(place: Place) -> None:
    before = sorted(keys_of_shard(place.sweep.shard(0)))
    place.materialize(request(_entries(place.folder, "alpha", "beta"), layout=Layout(num_shards=2, shuffle=7)))
    after = keys_of_shard(place.sweep.shard(0))
    assert sorted(after) == before != after
    assert look(load_plan(place.sweep, {}), 0).counts.succeeded == 1


def test_another_meaning_is_refused_unless_accepted_and_then_remembered(place: Place) -> None:
    wanted = request(_entries(place.folder, "alpha", "beta"), meaning={"model": "b"})
    place.refused(wanted, r"changes what a rollout means \(model\).*or --accept-mixed")
    place.materialize(wanted, accept_mixed=True)
    report = read_report(place.sweep)
    assert [change.parts for change in report.mixed] == [("model",)]
    place.materialize(request(_entries(place.folder, "alpha", "beta", "gamma"), meaning={"model": "b"}))
    assert read_report(place.sweep).mixed == report.mixed


def test_jobs_that_mean_something_else_are_refused_once_there_are_rollouts(tmp_path: Path) -> None:
    place = Place(tmp_path, collected=None)
    agree_on_meaning(load_plan(place.sweep, {}), {"model": "b", "collector": "simulated", "server.x": ""})
    assert read_report(place.sweep).meaning == {"model": "b", "collector": "simulated"}
    append(place.sweep.shard(1).failures, failure((1, 0)))
    plan = load_plan(place.sweep, {})
    agree_on_meaning(plan, {"model": "b", "collector": "simulated"})
    with pytest.raises(RefusedError, match=r"something else than those of shard_001 \(collector, model\)"):
        agree_on_meaning(plan, {"model": "a", "collector": "gym"})
    place.materialize(request(_entries(tmp_path, "alpha", "beta"), meaning={"model": "c"}), accept_mixed=True)
    assert read_report(place.sweep).meaning == {"model": "c", "collector": "simulated"}


def test_without_rollouts_the_meaning_may_change(tmp_path: Path) -> None:
    place = Place(tmp_path, collected=None)
    place.materialize(request(_entries(tmp_path, "alpha", "beta"), meaning={"model": "b"}))
    assert read_report(place.sweep).mixed == ()


def test_an_unused_sweep_is_replaced_on_request_only(tmp_path: Path) -> None:
    place = Place(tmp_path, collected=None)
    wanted = request(_entries(tmp_path, "beta"), num_shards=1)
    place.refused(wanted, "alpha is no longer in the manifest; this sweep is here already; pass --overwrite")
    place.materialize(wanted, overwrite=True)
    assert [path.name for path in place.sweep.shards.iterdir()] == ["shard_000"]


def test_discarding_sets_aside_and_starts_over(place: Place) -> None:
    place.materialize(request(_entries(place.folder, "beta"), num_shards=1), discard_rollouts=True)
    (snapshot,) = (place.sweep.path / "snapshots").iterdir()
    assert (snapshot / "shards" / "shard_000" / "rollouts.jsonl").read_bytes() == rollout((4, 1))
    assert (snapshot / "sweep_report.json").exists()
    assert not place.sweep.shard(0).rollouts.exists()
    assert read_report(place.sweep).entries[0].task_index_range == (0, 3)


def test_rollouts_without_a_report_are_never_built_over(place: Place) -> None:
    place.sweep.report.unlink()
    with pytest.raises(SweepError, match="no report that says of what"):
        place.materialize(request(_entries(place.folder, "alpha")), overwrite=True)


def test_a_crash_between_task_table_and_report_leaves_one_or_the_other(place: Place) -> None:
    old_report, old_tasks = read_report(place.sweep), place.sweep.tasks.read_bytes()
    place.materialize(request(_entries(place.folder, "alpha", "beta", "gamma")))
    new_report, new_tasks = read_report(place.sweep), place.sweep.tasks.read_bytes()
    # Killed before the report: the new table waits unseen.
    place.sweep.tasks.write_bytes(old_tasks)
    pending(place.sweep.tasks).write_bytes(new_tasks)
    write_report(place.sweep, old_report)
    assert load_plan(place.sweep, {}).tasks.height == 6
    # Killed after it: the table that the report names is taken.
    write_report(place.sweep, new_report)
    assert load_plan(place.sweep, {}).tasks.height == 9
    assert not pending(place.sweep.tasks).exists()
