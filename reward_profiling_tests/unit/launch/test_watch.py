"""A sweep is watched to its end: submitted once, adopted, closed, resubmitted for the remainder, stopped on budget."""

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from reward_profiling.errors import LaunchError, SchedulerUnknownError
from reward_profiling.launch.act import Launcher
from reward_profiling.launch.decide import Budget, Finish, Stop, Wait
from reward_profiling.launch.ledger import read_ledger
from reward_profiling.launch.watch import ShardView, job_name, step, watch
from reward_profiling.scheduler.protocol import Job, JobSpec, JobState
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.layout import ShardDir
from reward_profiling_tests.sweeps import append, keys_of_shard, rollout, tiny_plan


@dataclass
class MemoryScheduler:
    """A scheduler in memory whose jobs do what `work` says at the moment they are submitted."""

    work: Callable[[JobSpec], JobState]
    jobs: dict[str, Job] = field(default_factory=dict)
    silent: bool = False
    lose_answers: int = 0
    kind: str = "memory"

    def submit(self, spec: JobSpec) -> str:
        job_id = str(len(self.jobs) + 1)
        self.jobs[job_id] = Job(job_id, spec.name, self.work(spec))
        if self.lose_answers:
            self.lose_answers -= 1
            raise SchedulerUnknownError("no answer")
        return job_id

    def queue(self) -> tuple[Job, ...]:
        if self.silent:
            raise SchedulerUnknownError("no answer")
        return tuple(self.jobs.values())

    def history(self, ids: Collection[str]) -> Mapping[str, Job]:
        return {job_id: self.jobs[job_id] for job_id in ids if job_id in self.jobs}

    def cancel(self, job_id: str) -> None:
        self.jobs[job_id] = replace(self.jobs[job_id], state=JobState.CANCELLED)


def _collect(shard: ShardDir, most: int) -> None:
    done = set(shard.rollouts.read_bytes().splitlines(keepends=True)) if shard.rollouts.exists() else set()
    owed = [rollout(key) for key in keys_of_shard(shard) if rollout(key) not in done]
    append(shard.rollouts, *owed[:most])


def _launcher(scheduler: MemoryScheduler, plan: Plan) -> Launcher:
    clock = itertools.count(1000)

    def prepare(shard: ShardDir, attempt: int) -> JobSpec:
        return JobSpec(job_name(plan.sweep, int(shard.name[-3:])), shard.job_script, shard.path, shard.path / "log")

    return Launcher(scheduler, prepare, Budget(attempts=10, fruitless=3), lambda: float(next(clock)))


def _run(plan: Plan, launcher: Launcher, most_steps: int = 100) -> list[ShardView]:
    steps = itertools.count()

    def on_step(views: object) -> None:
        assert next(steps) < most_steps

    return watch(plan, range(plan.report.num_shards), launcher, on_step=on_step, pause=lambda: None)


def test_jobs_that_die_are_resubmitted_until_nothing_is_owed(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)

    def work(spec: JobSpec) -> JobState:
        _collect(ShardDir(spec.directory), most=2)
        return JobState.NODE_FAIL

    views = _run(plan, _launcher(MemoryScheduler(work), plan))
    assert [view.action for view in views] == [Finish(), Finish()]
    for number in range(2):
        attempts = read_ledger(plan.sweep.shard(number)).attempts
        assert [(a.outstanding_before, a.outstanding_after, a.state) for a in attempts] == [
            (6, 4, "NODE_FAIL"),
            (4, 2, "NODE_FAIL"),
            (2, 0, "NODE_FAIL"),
        ]


def test_a_job_without_progress_is_stopped_and_says_so(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    scheduler = MemoryScheduler(lambda spec: JobState.COMPLETED)
    views = _run(plan, _launcher(scheduler, plan))
    assert {view.action for view in views} == {Stop("3 attempts in a row brought no new row")}
    assert len(scheduler.jobs) == 6
    assert read_ledger(plan.sweep.shard(0)).stopped == "3 attempts in a row brought no new row"
    assert _run(plan, _launcher(scheduler, plan))[0].action == Stop("3 attempts in a row brought no new row")
    assert len(scheduler.jobs) == 6
    _launcher(scheduler, plan).release(plan.sweep.shard(0))
    _run(plan, _launcher(scheduler, plan))
    assert len(scheduler.jobs) == 9


def test_a_lost_answer_leads_to_adoption_never_to_a_second_job(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    scheduler = MemoryScheduler(lambda spec: JobState.RUNNING, lose_answers=2)
    launcher = _launcher(scheduler, plan)
    assert all(isinstance(view.action, Wait) for view in step(plan, [0, 1], launcher))
    step(plan, [0, 1], launcher)
    views = step(plan, [0, 1], launcher)
    assert [view.action for view in views] == [Wait("job 1 is RUNNING"), Wait("job 2 is RUNNING")]
    assert len(scheduler.jobs) == 2
    assert [a.number for a in read_ledger(plan.sweep.shard(0)).attempts] == [1]


def test_a_silent_scheduler_means_waiting(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    scheduler = MemoryScheduler(lambda spec: JobState.RUNNING)
    launcher = _launcher(scheduler, plan)
    step(plan, [0, 1], launcher)
    scheduler.silent = True
    before = read_ledger(plan.sweep.shard(0))
    views = step(plan, [0, 1], launcher)
    assert {view.action for view in views} == {Wait("the scheduler did not answer; asking again")}
    assert read_ledger(plan.sweep.shard(0)) == before


def test_a_purged_job_is_recorded_as_lost_with_what_it_collected(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    scheduler = MemoryScheduler(lambda spec: JobState.RUNNING)
    launcher = _launcher(scheduler, plan)
    step(plan, [0], launcher)
    _collect(plan.sweep.shard(0), most=6)
    scheduler.jobs.clear()
    step(plan, [0], launcher)
    assert step(plan, [0], launcher)[0].action == Finish()
    (attempt,) = read_ledger(plan.sweep.shard(0)).attempts
    assert (attempt.state, attempt.reason, attempt.outstanding_after) == ("LOST", "no record is left of it", 0)


def test_a_stranger_with_the_same_number_is_not_believed(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    scheduler = MemoryScheduler(lambda spec: JobState.RUNNING)
    launcher = _launcher(scheduler, plan)
    step(plan, [0], launcher)
    scheduler.jobs["1"] = Job("1", "somebody.elses", JobState.COMPLETED)
    step(plan, [0], launcher)
    assert read_ledger(plan.sweep.shard(0)).attempts[0].state == "LOST"


def test_an_attempt_of_another_scheduler_is_not_lost(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    step(plan, [0], _launcher(MemoryScheduler(lambda spec: JobState.RUNNING), plan))
    other = MemoryScheduler(lambda spec: JobState.RUNNING, kind="elsewhere")
    (view,) = step(plan, [0], _launcher(other, plan))
    assert isinstance(view.action, Wait)
    assert "attempt 1 was given to memory" in view.action.reason
    assert read_ledger(plan.sweep.shard(0)).attempts[0].open
    assert other.jobs == {}


def test_a_refused_submission_is_no_attempt(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)

    def refuse(spec: JobSpec) -> JobState:
        raise LaunchError("invalid partition", place="sbatch")

    with pytest.raises(LaunchError, match="sbatch: invalid partition"):
        step(plan, [0], _launcher(MemoryScheduler(refuse), plan))
    ledger = read_ledger(plan.sweep.shard(0))
    assert (ledger.attempts, ledger.unanswered, ledger.last_number) == ((), False, 1)


def test_a_torn_ledger_line_is_passed_over(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    launcher = _launcher(MemoryScheduler(lambda spec: JobState.RUNNING), plan)
    step(plan, [0], launcher)
    append(plan.sweep.shard(0).attempts, b'{"event":"ended","att')
    before = read_ledger(plan.sweep.shard(0))
    assert before.open_attempt is not None
    step(plan, [0], launcher)
    assert read_ledger(plan.sweep.shard(0)) == before
