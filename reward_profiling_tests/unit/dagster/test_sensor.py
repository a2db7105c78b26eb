"""The squeue sensor: it takes care of what somebody started and no run watches, and of nothing else."""

from collections.abc import Sequence

import dagster as dg
import pytest

from reward_profiling.launch.ledger import read_ledger
from reward_profiling.scheduler.protocol import JobState
from reward_profiling.sensors import squeue
from reward_profiling.sensors.cursor import Cursor
from reward_profiling.sensors.squeue import evaluate
from reward_profiling_tests.unit.dagster.location import (
    Location,
    collect,
    collect_into,
    die_when_running,
    write_manifest,
)

NOON = 1_000_000.0 * 3600
OBSERVED = Cursor(observed_at=NOON)


def tick(location: Location, cursor: Cursor = OBSERVED, now: float = NOON) -> dg.SensorResult:
    return evaluate(location.sweeps, location.instance, location.launcher, cursor, now)


def requested(result: dg.SensorResult) -> list[tuple[str, str | None, str | None, str | None]]:
    """Sweep, partition, first and last of a range, per request."""
    found = []
    for each in result.run_requests or ():
        start = each.tags.get("dagster/asset_partition_range_start")
        end = each.tags.get("dagster/asset_partition_range_end")
        found.append((each.tags["reward_profiling/sweep"], each.partition_key, start, end))
    return found


def reason(result: dg.SensorResult) -> str:
    assert result.skip_reason is not None
    return result.skip_reason.skip_message or ""


def start_and_die(location: Location, shards: Sequence[int], nickname: str = "tiny") -> None:
    """A person starts shards; the run dies when their jobs are running."""
    location.scheduler.work = lambda _: JobState.RUNNING
    die_when_running(location, shards)
    assert not location.materialize(f"{nickname}/rollouts", shards=shards).success


def end_jobs(location: Location, state: JobState) -> None:
    for job in list(location.scheduler.jobs.values()):
        if job.live:
            location.scheduler.end(job.id, state)


def test_a_sweep_that_nobody_started_is_left_alone(location: Location) -> None:
    location.prepare()
    result = tick(location)
    assert not result.run_requests and not result.asset_events
    assert reason(result) == "no shard waits for this sensor"
    assert location.scheduler.questions == 0


def test_a_shard_with_a_live_job_is_left_alone(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0])
    result = tick(location)
    assert not result.run_requests and not result.asset_events
    assert reason(result) == "tiny shard_000: job 1 is RUNNING"


def test_a_shard_whose_job_died_is_requested_and_others_are_not(location: Location) -> None:
    location.prepare()
    start_and_die(location, [1])
    end_jobs(location, JobState.NODE_FAIL)
    result = tick(location)
    assert requested(result) == [("tiny", "shard_001", None, None)]
    (attempt,) = read_ledger(location.sweep.directory.shard(1)).attempts
    assert (attempt.state, attempt.outstanding_after) == ("NODE_FAIL", 4)
    assert len(location.scheduler.jobs) == 1


def test_neighbours_share_a_run_and_the_rest_have_their_own(location: Location) -> None:
    write_manifest(location.root / "manifests", num_shards=5)
    location.prepare()
    start_and_die(location, [0, 1, 2, 3, 4])
    end_jobs(location, JobState.FAILED)
    collect_into(location.sweep.directory.shard(2), 100)
    result = tick(location)
    assert requested(result) == [("tiny", None, "shard_000", "shard_001"), ("tiny", None, "shard_003", "shard_004")]


def test_what_the_sensor_requests_runs_to_the_end(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0, 1])
    collect_into(location.sweep.directory.shard(0), 1)
    end_jobs(location, JobState.NODE_FAIL)
    (request,) = tick(location).run_requests or ()
    location.scheduler.work = collect(100)
    assert location.materialize("tiny/rollouts", shards=[0, 1], tags=request.tags).success
    first, second = read_ledger(location.sweep.directory.shard(0)).attempts
    assert (first.outstanding_before, second.outstanding_before, second.outstanding_after) == (4, 3, 0)
    assert not tick(location).run_requests


def test_a_need_has_one_run_key_until_the_next_attempt_or_the_next_hour(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0])
    end_jobs(location, JobState.FAILED)

    def key(now: float) -> str | None:
        (request,) = tick(location, now=now).run_requests or ()
        return request.run_key

    first = key(NOON)
    assert first is not None and "attempt 2" in first
    assert key(NOON + 3599) == first
    assert key(NOON + 3600) != first
    start_and_die(location, [0])
    collect_into(location.sweep.directory.shard(0), 1)
    end_jobs(location, JobState.FAILED)
    assert "attempt 3" in (key(NOON) or "")


@pytest.mark.parametrize("status", [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTED])
def test_a_shard_with_a_run_in_flight_is_left_alone(location: Location, status: dg.DagsterRunStatus) -> None:
    location.prepare()
    start_and_die(location, [0])
    end_jobs(location, JobState.FAILED)
    job = location.definitions().resolve_implicit_global_asset_job_def()
    location.instance.create_run_for_job(
        job,
        asset_selection=frozenset([location.sweep.key("rollouts")]),
        tags={"dagster/partition": "shard_000"},
        status=status,
    )
    assert location.status()["shard_000"] == "IN_PROGRESS"
    assert not tick(location).run_requests


def test_a_shard_that_was_completed_after_its_run_died_is_materialized(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0, 1, 2])
    for number in range(3):
        collect_into(location.sweep.directory.shard(number), 100)
    end_jobs(location, JobState.COMPLETED)
    result = tick(location)
    assert not result.run_requests
    *made, check = result.asset_events
    assert [event.partition for event in made if isinstance(event, dg.AssetMaterialization)] == [
        "shard_000",
        "shard_001",
        "shard_002",
    ]
    assert isinstance(check, dg.AssetCheckEvaluation) and check.passed
    for event in result.asset_events:
        location.instance.report_runless_asset_event(event)
    assert set(location.status().values()) == {"MATERIALIZED"}
    assert reason(tick(location)) == "no shard waits for this sensor"


def test_a_complete_shard_whose_job_still_runs_is_not_materialized_yet(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0])
    collect_into(location.sweep.directory.shard(0), 100)
    assert not tick(location).asset_events


def test_a_job_that_no_ledger_knows_is_adopted(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0])
    end_jobs(location, JobState.FAILED)
    first = location.scheduler.jobs["1"]
    location.scheduler.jobs["99"] = type(first)("99", first.name, JobState.PENDING)
    result = tick(location)
    assert not result.run_requests
    assert reason(result) == "tiny shard_000: job 99 is PENDING"
    assert [attempt.job_id for attempt in read_ledger(location.sweep.directory.shard(0)).attempts] == ["1", "99"]


def test_a_shard_that_spent_its_budget_is_stopped_once_and_for_all(location: Location) -> None:
    location.prepare()
    for _ in range(2):
        start_and_die(location, [0])
        end_jobs(location, JobState.FAILED)
    for _ in range(2):
        result = tick(location)
        assert not result.run_requests
        assert reason(result) == "tiny shard_000: given up: 2 attempts in a row brought no new row"
    assert read_ledger(location.sweep.directory.shard(0)).stopped


def test_a_cancelled_shard_is_not_requested_again(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0])
    assert location.status()["shard_000"] == "FAILED"  # and Dagster goes on saying so after the cancel
    die_when_running(location, [0], cancelled=True)
    location.materialize("tiny/rollouts", shards=[0])
    assert not location.scheduler.live("shard_000")
    assert reason(tick(location)) == "no shard waits for this sensor"


def test_nothing_follows_from_a_scheduler_that_does_not_answer(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0])
    end_jobs(location, JobState.FAILED)
    location.scheduler.silent = True
    result = tick(location)
    assert not result.run_requests and not result.asset_events
    assert "did not answer" in reason(result)
    assert read_ledger(location.sweep.directory.shard(0)).open_attempt is not None


def test_one_question_serves_all_sweeps_and_an_error_of_one_does_not_stop_the_others(location: Location) -> None:
    for nickname in ("broken", "other", "third"):
        write_manifest(location.root / "manifests", nickname)
    location.prepare()
    for nickname in ("broken", "other", "third", "tiny"):
        start_and_die(location, [0, 1], nickname)
    end_jobs(location, JobState.FAILED)
    (location.root / "sweeps" / "broken" / "tasks.parquet").unlink()
    asked = location.scheduler.questions
    result = tick(location)
    assert location.scheduler.questions == asked + 2  # one that finds the scheduler, and one for all jobs
    assert {sweep for sweep, *_ in requested(result)} == {"other", "third", "tiny"}


def test_an_error_is_shown_when_there_is_nothing_to_request(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0])
    location.sweep.directory.tasks.unlink()
    text = reason(tick(location))
    assert text.startswith("tiny: ") and "the task table is missing" in text


def test_a_tick_that_runs_out_of_time_goes_on_where_it_stopped(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    location.prepare()
    start_and_die(location, [0, 1, 2])
    end_jobs(location, JobState.FAILED)
    monkeypatch.setattr(squeue, "_TICK_SECONDS", 0.0)
    result = tick(location, Cursor("tiny", 1, NOON))
    assert not result.run_requests
    assert Cursor.read(result.cursor) == Cursor("tiny", 1, NOON)
    monkeypatch.undo()
    result = tick(location, Cursor.read(result.cursor))
    assert requested(result) == [("tiny", None, "shard_000", "shard_002")]
    assert Cursor.read(result.cursor) == Cursor(observed_at=NOON)


def test_progress_of_live_jobs_is_reported_every_ten_minutes(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0])
    result = tick(location, Cursor(observed_at=NOON - 601))
    (observed,) = result.asset_events
    assert isinstance(observed, dg.AssetObservation)
    assert observed.description == "0 of 4 rollouts done; job 1 is RUNNING"
    assert not tick(location, Cursor.read(result.cursor), NOON + 599).asset_events


def test_the_sensor_is_part_of_the_definitions_and_on_by_default(location: Location) -> None:
    location.prepare()
    start_and_die(location, [0])
    end_jobs(location, JobState.FAILED)
    definitions = location.definitions()
    sensor = definitions.resolve_sensor_def("squeue")
    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
    resources = {"launcher": location.launcher}
    context = dg.build_sensor_context(instance=location.instance, definitions=definitions, resources=resources)
    data = sensor.evaluate_tick(context)
    (request,) = data.run_requests or ()
    assert request.partition_key == "shard_000"


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"other": 1}'])
def test_a_cursor_that_cannot_be_read_counts_as_none(text: str | None) -> None:
    assert Cursor.read(text) == Cursor()
