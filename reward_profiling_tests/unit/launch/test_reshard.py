"""No reshard while anything may run, whichever of the witnesses says so; ledgers, numbers and budgets go along."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reward_profiling.errors import RefusedError, SchedulerUnknownError
from reward_profiling.files import exclusive_lock
from reward_profiling.launch.act import Launcher
from reward_profiling.launch.decide import Budget, Submit, decide
from reward_profiling.launch.ledger import Event, read_ledger, record
from reward_profiling.launch.quiet import RECENT_SECONDS
from reward_profiling.launch.reshard import reshard
from reward_profiling.launch.watch import is_job_of, job_name, observe, step
from reward_profiling.scheduler.local import LocalScheduler
from reward_profiling.scheduler.protocol import Job, JobSpec, JobState
from reward_profiling.sweep.completeness import Plan, load_plan
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling_tests.collected import collect_some, sweep_holds
from reward_profiling_tests.sweeps import append, rollout, tiny_plan

DEADLINE = 60.0


class Place:
    """A sweep of two shards and a local scheduler whose jobs wait for a file."""

    def __init__(self, folder: Path) -> None:
        self.plan = tiny_plan(folder)
        self.sweep = self.plan.sweep
        self.scheduler = LocalScheduler(folder / "scheduler", slots=2, kill_wait=1)
        self.script = folder / "job.sh"
        self.script.write_text(f"#!/bin/sh\nwhile [ ! -e {folder}/end ]; do sleep 0.05; done\n")
        self.end = folder / "end"

    def launcher(self) -> Launcher:
        def prepare(shard: ShardDir, attempt: int) -> JobSpec:
            return JobSpec(job_name(self.sweep, int(shard.name[-3:])), self.script, shard.path, shard.path / "log")

        return Launcher(self.scheduler, prepare, Budget(attempts=2), time.time)

    def reshard(self, num_shards: int) -> Plan:
        reshard(self.sweep, num_shards, self.scheduler, {})
        return load_plan(self.sweep, {})

    def refused(self, num_shards: int, message: str) -> None:
        before = sweep_holds(self.plan)
        with pytest.raises(RefusedError, match=message):
            self.reshard(num_shards)
        assert sweep_holds(load_plan(self.sweep, {})) == before
        assert not self.sweep.snapshots.exists()

    def let_jobs_end(self) -> None:
        self.end.touch()
        deadline = time.monotonic() + DEADLINE
        while any(job.live for job in self.scheduler.queue()):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def age(self) -> None:
        """Let rows be older than what counts as recent."""
        for path in self.sweep.shards.rglob("*.jsonl"):
            os.utime(path, (time.time() - RECENT_SECONDS - 1,) * 2)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.let_jobs_end()


def test_a_live_job_is_named_and_its_end_is_recorded_once_it_has_ended(place: Place) -> None:
    step(place.plan, [0, 1], place.launcher())
    place.refused(
        3, r"shard_000 is live: job local-1 is (PENDING|RUNNING).*; wait until its job has ended, or cancel it"
    )
    place.let_jobs_end()
    plan = place.reshard(3)
    (snapshot,) = place.sweep.snapshots.iterdir()
    old = read_ledger(SweepDir(snapshot).shard(1))
    assert [(attempt.number, attempt.job_id, attempt.state) for attempt in old.attempts] == [
        (1, "local-2", JobState.COMPLETED)
    ]
    for number in range(3):
        ledger = read_ledger(plan.sweep.shard(number))
        assert (ledger.attempts, ledger.last_number, ledger.spent) == ((), 1, 0)
        assert ledger.former_jobs == {"local-1", "local-2"}


def test_new_shards_do_not_take_old_jobs_for_their_own_and_go_on_counting(place: Place) -> None:
    step(place.plan, [0, 1], place.launcher())
    place.let_jobs_end()
    plan = place.reshard(3)
    record(plan.sweep.shard(0), Event.SUBMITTING, 0.0, attempt=2)  # an intent whose answer was lost
    state = observe(plan, [0], place.scheduler.queue())[0]
    assert [job.id for job in state.jobs or ()] == ["local-1"]
    assert isinstance(decide(state, Budget(attempts=1)), Submit)
    views = step(plan, [0], place.launcher())
    assert isinstance(views[0].action, Submit)
    assert [attempt.number for attempt in read_ledger(plan.sweep.shard(0)).attempts] == [3]


def test_a_job_that_no_ledger_knows_is_live_too(place: Place) -> None:
    spec = JobSpec(job_name(place.sweep, 7), place.script, place.sweep.path, place.sweep.path / "log")
    place.scheduler.submit(spec)
    place.refused(3, "shard_007 is live: job local-1 is")


def test_locks_that_are_held_are_proof_of_life(place: Place) -> None:
    for lock, message in (
        (place.sweep.shard(1).submit_lock, "shard_001 is live: a job is being submitted"),
        (place.sweep.shard(0).collect_lock, "shard_000 is live: a job holds it, whatever the scheduler says"),
    ):
        with exclusive_lock(lock):
            place.refused(3, message)
    assert place.reshard(3).report.num_shards == 3


def test_rows_that_were_written_just_now_are_proof_of_life(place: Place) -> None:
    append(place.sweep.shard(1).rollouts, rollout((1, 0)))
    place.refused(3, r"shard_001 is live: rollouts.jsonl was written \d+ s ago by something the ledger lacks")
    place.age()
    assert place.reshard(3).report.num_shards == 3


def test_rows_of_a_job_whose_end_is_recorded_are_no_proof(place: Place) -> None:
    step(place.plan, [0, 1], place.launcher())
    collect_some(place.plan, 1)
    place.let_jobs_end()
    held = sweep_holds(place.plan)
    assert sweep_holds(place.reshard(3)) == held
    assert sweep_holds(place.reshard(1)) == held


def test_a_scheduler_that_does_not_answer_is_no_proof_of_rest(place: Place) -> None:
    class Silent(LocalScheduler):
        def queue(self) -> tuple[Job, ...]:
            raise SchedulerUnknownError("no answer")

    with pytest.raises(SchedulerUnknownError):
        reshard(place.sweep, 3, Silent(place.sweep.path.parent / "scheduler"), {})
    assert load_plan(place.sweep, {}).report.num_shards == 2


def test_an_attempt_of_another_scheduler_is_not_settled_here(place: Place) -> None:
    record(place.sweep.shard(0), Event.SUBMITTING, 0.0, attempt=1)
    values = {"job_id": "7", "job_name": "x", "scheduler": "slurm", "outstanding": 6, "rows": 0}
    record(place.sweep.shard(0), Event.SUBMITTED, 0.0, attempt=1, **values)
    place.refused(3, "attempt 1 was given to slurm, which is not asked here; choose --scheduler slurm")


def test_nothing_can_be_submitted_meanwhile(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def look_around(plan: Plan, *_: object) -> None:
        for number in range(2):
            for lock in (plan.sweep.shard(number).submit_lock, plan.sweep.shard(number).collect_lock):
                with exclusive_lock(lock, wait=False) as held:
                    seen.append(held)

    monkeypatch.setattr("reward_profiling.launch.reshard.reshard_files", look_around)
    with contextlib.suppress(AttributeError):
        place.reshard(3)
    assert seen == [False] * 4


def test_a_jobs_name_tells_its_sweep(place: Place) -> None:
    other = SweepDir(place.sweep.path.parent / "other")
    assert is_job_of(place.sweep, job_name(place.sweep, 1234))
    assert not is_job_of(place.sweep, job_name(other, 0))
    assert not is_job_of(place.sweep, job_name(place.sweep, 0).replace("shard_", "piece_"))
