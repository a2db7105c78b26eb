"""Materializing `rollouts`: done means nothing outstanding, failures name their partitions, jobs outlive their run."""

from pathlib import Path

import dagster as dg

from reward_profiling.launch.ledger import read_ledger
from reward_profiling.scheduler.protocol import JobSpec, JobState
from reward_profiling.sweep.layout import ShardDir
from reward_profiling_tests.sweeps import append, failure
from reward_profiling_tests.unit.dagster.location import (
    Location,
    MemoryLauncher,
    collect,
    collect_into,
    die_when_running,
    events,
    failure_text,
)


def test_each_complete_shard_is_materialized_with_its_counts(location: Location) -> None:
    location.prepare()
    result = location.materialize("tiny/rollouts", shards=[0, 1, 2])
    assert result.success
    made = {
        each.materialization.partition: each.materialization
        for each in events(result, dg.DagsterEventType.ASSET_MATERIALIZATION)
    }
    assert sorted(made) == ["shard_000", "shard_001", "shard_002"]
    values = {key: value.value for key, value in made["shard_000"].metadata.items()}
    assert (values["expected"], values["succeeded"], values["outstanding"]) == (4, 4, 0)
    assert values["manifest_digest"] == location.sweep.digest
    assert values["job_ids"] == "1"
    assert values["simulated"] is False
    assert values["rollouts"] == str(location.sweep.directory.shard(0).rollouts)
    (check,) = events(result, dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    assert check.passed


def test_one_question_per_look_serves_all_shards(location: Location) -> None:
    location.prepare()
    location.materialize("tiny/rollouts", shards=[0, 1, 2])
    # One finds the scheduler, three are looks (submit, close, finish), and each of three submissions asks once more.
    assert location.scheduler.questions == 1 + 3 + 3


def test_a_failed_run_names_the_incomplete_partitions_and_keeps_the_others(location: Location) -> None:
    location.prepare()

    def work(spec: JobSpec) -> JobState:
        return JobState.FAILED if spec.directory.name == "shard_001" else collect(100)(spec)

    location.scheduler.work = work
    result = location.materialize("tiny/rollouts", shards=[0, 1, 2])
    assert not result.success
    text = failure_text(result)
    assert text.startswith("1 of 3 shards are incomplete: shard_001 (4 of 4 rollouts outstanding, given up: ")
    assert "shard_000" not in text and "\n" not in text
    assert location.status() == {"shard_000": "MATERIALIZED", "shard_001": "FAILED", "shard_002": "MATERIALIZED"}
    (check,) = events(result, dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    assert not check.passed
    assert check.description == "4 of 10 rollouts are outstanding"


def test_the_check_fails_while_another_shard_is_outstanding(location: Location) -> None:
    location.prepare()
    result = location.materialize("tiny/rollouts", shards=[0])
    assert result.success
    (check,) = events(result, dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    assert not check.passed


def test_materializing_a_shard_that_was_given_up_tries_it_again(location: Location) -> None:
    location.prepare()
    location.scheduler.work = lambda _: JobState.FAILED
    assert not location.materialize("tiny/rollouts", shards=[0]).success
    assert read_ledger(location.sweep.directory.shard(0)).stopped
    location.scheduler.work = collect(100)
    assert location.materialize("tiny/rollouts", shards=[0]).success


def test_a_run_of_the_sensor_does_not_release_a_shard_that_was_given_up(location: Location) -> None:
    location.prepare()
    location.scheduler.work = lambda _: JobState.FAILED
    assert not location.materialize("tiny/rollouts", shards=[0]).success
    jobs = len(location.scheduler.jobs)
    assert not location.materialize("tiny/rollouts", shards=[0], tags={"dagster/sensor_name": "squeue"}).success
    assert len(location.scheduler.jobs) == jobs


def test_a_live_job_of_a_dead_run_is_adopted(location: Location) -> None:
    location.prepare()
    location.scheduler.work = lambda _: JobState.RUNNING
    shard = location.sweep.directory.shard(0)
    die_when_running(location, [0])
    assert not location.materialize("tiny/rollouts", shards=[0]).success
    assert [job.id for job in location.scheduler.live("shard_000")] == ["1"]

    def finish() -> None:
        collect_into(shard, 100)
        location.scheduler.end("1", JobState.COMPLETED)

    location.scheduler.on_question = finish
    assert location.materialize("tiny/rollouts", shards=[0]).success
    assert [attempt.job_id for attempt in read_ledger(shard).attempts] == ["1"]


def test_an_interrupted_run_leaves_its_jobs_running(location: Location) -> None:
    location.prepare()
    location.scheduler.work = lambda _: JobState.RUNNING
    die_when_running(location, [0, 1])
    result = location.materialize("tiny/rollouts", shards=[0, 1])
    assert not result.success
    assert location.scheduler.live("shard_000") and location.scheduler.live("shard_001")


def test_a_cancelled_run_cancels_its_jobs_and_no_others(location: Location) -> None:
    location.prepare()
    location.scheduler.work = lambda _: JobState.RUNNING
    die_when_running(location, [2])
    location.materialize("tiny/rollouts", shards=[2])
    die_when_running(location, [0, 1], cancelled=True)
    location.materialize("tiny/rollouts", shards=[0, 1])
    assert not location.scheduler.live("shard_000") and not location.scheduler.live("shard_001")
    assert location.scheduler.live("shard_002")


def test_a_run_whose_time_is_over_says_so_and_leaves_its_jobs(location: Location) -> None:
    location.prepare()
    location.scheduler.work = lambda _: JobState.RUNNING
    location.launcher = MemoryLauncher(location=str(location.root), watch_seconds=0.0)
    result = location.materialize("tiny/rollouts", shards=[0])
    text = failure_text(result)
    assert "shard_000 (4 of 4 rollouts outstanding, " in text and "the jobs go on" in text
    assert location.scheduler.live("shard_000")


def test_a_refused_submission_ends_the_run_with_the_schedulers_words(location: Location) -> None:
    location.prepare()
    location.scheduler.refusal = "sbatch: invalid partition: gpu"
    text = failure_text(location.materialize("tiny/rollouts", shards=[0, 1]))
    assert text.startswith("2 of 2 shards are incomplete: shard_000, shard_001; sbatch: invalid partition: gpu")


def test_a_scheduler_that_does_not_answer_is_asked_again(location: Location) -> None:
    location.prepare()
    location.scheduler.silent = True

    def on_question() -> None:
        location.scheduler.silent = location.scheduler.questions < 4

    location.scheduler.on_question = on_question
    assert location.materialize("tiny/rollouts", shards=[0]).success
    assert len(location.scheduler.jobs) == 1


def test_a_sweep_that_was_never_materialized_is_refused_in_one_line(location: Location) -> None:
    text = failure_text(location.materialize("tiny/rollouts", shards=[0]))
    assert "the sweep report is missing" in text and "\n" not in text


def test_every_run_has_a_maximum_runtime_and_names_its_sweep(location: Location) -> None:
    location.prepare()
    result = location.materialize("tiny/rollouts", shards=[0])
    run = location.instance.get_run_by_id(result.run_id)
    assert run is not None
    assert run.tags["reward_profiling/sweep"] == "tiny"
    assert run.tags["reward_profiling/manifest_digest"] == location.sweep.digest
    assert float(run.tags["dagster/max_runtime"]) > location.launcher.watch_seconds


def test_progress_is_observed(location: Location) -> None:
    location.prepare()
    location.scheduler.work = collect(3)
    result = location.materialize("tiny/rollouts", shards=[0])
    assert result.success
    observed = [each.asset_observation for each in events(result, dg.DagsterEventType.ASSET_OBSERVATION)]
    assert observed[0].description == "0 of 4 rollouts done; submitting what is outstanding"
    assert ShardDir(Path(observed[0].metadata["rollouts"].value).parent) == location.sweep.directory.shard(0)


def test_a_shard_is_reported_when_it_is_complete_and_not_only_at_the_end(location: Location) -> None:
    location.prepare()

    def work(spec: JobSpec) -> JobState:
        return collect(100 if spec.directory.name == "shard_002" else 1)(spec)

    location.scheduler.work = work
    result = location.materialize("tiny/rollouts", shards=[0, 1, 2])
    assert result.success
    order = [each.materialization.partition for each in events(result, dg.DagsterEventType.ASSET_MATERIALIZATION)]
    assert order[0] == "shard_002"
    assert sorted(order[1:]) == ["shard_000", "shard_001", "shard_002"]


def test_what_depends_on_rollouts_is_materialized_in_the_same_run(location: Location) -> None:
    location.prepare()
    result = location.materialize("tiny/rollouts", "tiny/profiles", shards=[0, 1, 2])
    assert result.success
    found = (each.materialization for each in events(result, dg.DagsterEventType.ASSET_MATERIALIZATION))
    made = {each.asset_key.path[-1]: each for each in found}
    assert set(made) == {"rollouts", "profiles"}
    assert "dagster/input_data_version/tiny/rollouts" in (made["profiles"].tags or {})


def test_the_data_version_changes_with_the_rollouts_only(location: Location) -> None:
    location.prepare()

    def version() -> str:
        result = location.materialize("tiny/rollouts", shards=[0])
        (made,) = events(result, dg.DagsterEventType.ASSET_MATERIALIZATION)
        return str(made.materialization.tags["dagster/data_version"])

    first = version()
    assert version() == first
    append(location.sweep.directory.shard(0).failures, failure((0, 0)))
    assert version() != first
