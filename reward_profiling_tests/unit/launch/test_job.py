"""job.sh run for real, as a plain process with the collector stand-in: what a job does, and what it leaves behind.

Each test waits for what it provokes; a job that loses, doubles or forgets rollouts fails here.
"""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from reward_profiling.launch.exit_record import Reason, read_exit_record
from reward_profiling.sweep.completeness import Plan, look
from reward_profiling_tests import jobs, sweeps
from reward_profiling_tests.jobs import PATIENCE, RunningJob, gone, one_shard, wait_for

SLOW = {"REWARD_PROFILING_SIMULATE_ROLLOUTS_PER_SECOND": "4"}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """One shard of 5 tasks x 4 repeats."""
    return one_shard(tmp_path)


@pytest.fixture
def start(plan: Plan) -> Iterator[Any]:
    """Starts a job on the plan's shard; none outlives its test."""
    started: list[RunningJob] = []

    def begin(attempt: int = 1, environment: Mapping[str, str] | None = None, **changes: Any) -> RunningJob:
        started.append(RunningJob(plan, jobs.settings(**changes), attempt, environment))
        return started[-1]

    yield begin
    for job in started:
        with contextlib.suppress(ProcessLookupError):
            job.process.kill()
        job.process.wait()


def _keys(plan: Plan) -> list[sweeps.Key]:
    """Keys of the rows in the rollouts, each as often as it is there."""
    rows = [orjson.loads(line) for line in plan.sweep.shard(0).rollouts.read_bytes().splitlines()]
    return sorted((row["_ng_task_index"], row["_ng_rollout_index"]) for row in rows)


def _every_key_once(plan: Plan) -> bool:
    return _keys(plan) == sorted(sweeps.keys_of_shard(plan.sweep.shard(0)))


def test_a_job_collects_what_is_outstanding_and_says_so(plan: Plan, start: Any) -> None:
    job = start()
    record = job.wait()
    assert job.process.returncode == 0
    assert (record.reason, record.job_id, record.attempt) == (Reason.COMPLETE, "local-7", 1)
    assert record.before is not None and record.before.outstanding == 20
    assert record.after is not None and record.after.succeeded == 20
    assert record.exit_codes == {"gym-servers": 0, "collector": 0}
    assert record.simulated and record.gym_version == "0.7.0"
    assert record.ready_at is not None and record.first_row_at is not None
    assert record.started_at < record.ready_at <= record.first_row_at <= record.ended_at
    assert _every_key_once(plan)
    assert look(plan, 0).simulated
    assert (job.logs / "job.sh").read_text() == plan.sweep.shard(0).job_script.read_text()


def test_nothing_outstanding_starts_no_gym(plan: Plan, start: Any) -> None:
    shard = plan.sweep.shard(0)
    sweeps.append(shard.rollouts, *(sweeps.rollout(key) for key in sweeps.keys_of_shard(shard)))
    job = start()
    record = job.wait()
    assert record.reason is Reason.NOTHING_OUTSTANDING and job.process.returncode == 0
    assert record.exit_codes == {} and record.ready_at is None
    assert not list(job.logs.glob("gym*")) and not list(job.logs.glob("collector*"))


def test_torn_and_foreign_rows_are_repaired_before_the_start(plan: Plan, start: Any) -> None:
    shard = plan.sweep.shard(0)
    keys = sweeps.keys_of_shard(shard)
    sweeps.append(shard.rollouts, sweeps.rollout(keys[0]), sweeps.rollout((999, 0)), sweeps.rollout(keys[1])[:-20])
    record = start().wait()
    assert record.before is not None and record.before.succeeded == 1
    assert record.reason is Reason.COMPLETE and _every_key_once(plan)


def test_a_killed_collector(start: Any) -> None:
    job = start(environment=SLOW)
    job.wait_for_rows(3)
    os.kill(job.part("collector"), signal.SIGKILL)
    record = job.wait()
    assert (record.reason, record.exit_codes["collector"]) == (Reason.COLLECTOR_FAILED, 137)
    assert job.process.returncode == 1
    assert record.after is not None and 0 < record.after.outstanding < 20


def test_a_collector_that_dies_in_the_middle_of_a_row(plan: Plan, start: Any) -> None:
    record = start(environment={"REWARD_PROFILING_SIMULATE_DIE_AFTER": "7"}).wait()
    assert record.reason is Reason.COLLECTOR_FAILED
    assert not plan.sweep.shard(0).rollouts.read_bytes().endswith(b"\n")
    second = start(2).wait()
    assert second.reason is Reason.COMPLETE and second.before == record.after
    assert _every_key_once(plan)


def test_dead_servers_end_the_collector(start: Any) -> None:
    job = start(environment=SLOW)
    job.wait_for_rows()
    collector, servers = job.part("collector"), job.part("gym-servers")
    os.kill(servers, signal.SIGKILL)
    record = job.wait()
    assert (record.reason, record.exit_codes) == (Reason.GYM_DIED, {"gym-servers": 137, "collector": 143})
    assert gone(collector) and gone(servers)


def test_servers_that_never_come_up(plan: Plan, start: Any) -> None:
    plan.sweep.sweep_config.write_text("config_paths: [nowhere.yaml]\n")
    record = start().wait()
    assert record.reason is Reason.GYM_NOT_READY
    assert "3 starts failed" in record.message and "nowhere.yaml" in record.message


def test_slow_servers_are_not_waited_for_for_ever(start: Any) -> None:
    slow = {"REWARD_PROFILING_SIMULATE_READY_AFTER_S": "60"}
    job = start(environment=slow, patience=replace(PATIENCE, ready=2))
    record = job.wait()
    assert record.reason is Reason.GYM_NOT_READY and "not ready after 2 s" in record.message
    assert list(job.logs.glob("gym-servers.*.log")) == [job.logs / "gym-servers.1.log"]


def test_a_collector_that_hangs_is_stopped(start: Any) -> None:
    hang = {"REWARD_PROFILING_SIMULATE_HANG_AFTER": "3"}
    job = start(environment=hang, patience=replace(PATIENCE, stall=2))
    record = job.wait()
    assert record.reason is Reason.STALLED and "no new row for 2 s" in record.message
    assert record.after is not None and record.after.succeeded == 3


def test_a_suspended_job_is_not_a_stalled_one(start: Any) -> None:
    job = start(environment=SLOW, patience=replace(PATIENCE, stall=2))
    job.wait_for_rows()
    collector = job.part("collector")
    os.kill(collector, signal.SIGSTOP)
    time.sleep(0.6)  # the watchdog has seen the last row
    os.kill(job.process.pid, signal.SIGSTOP)
    time.sleep(3.5)
    os.kill(job.process.pid, signal.SIGCONT)
    os.kill(collector, signal.SIGCONT)
    assert job.wait().reason is Reason.COMPLETE


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGTERM, Reason.TERMINATED), (signal.SIGUSR1, Reason.WALLTIME)])
def test_a_job_that_is_told_to_end(plan: Plan, start: Any, number: signal.Signals, reason: Reason) -> None:
    job = start(environment=SLOW)
    job.wait_for_rows(2)
    collector, servers = job.part("collector"), job.part("gym-servers")
    job.signal(number)
    record = job.wait()
    assert record.reason is reason
    assert record.exit_codes == {"gym-servers": 0, "collector": 143}
    assert record.after is not None and record.after.succeeded >= 2
    assert gone(collector) and gone(servers)
    assert plan.sweep.shard(0).rollouts.read_bytes().endswith(b"\n")


def test_a_signal_to_all_processes_at_once_is_no_failure_of_a_part(start: Any) -> None:
    job = start(environment=SLOW)
    job.wait_for_rows()
    os.kill(job.part("collector"), signal.SIGTERM)
    time.sleep(0.3)  # longer than the supervisor needs to see the collector dead
    job.signal(signal.SIGTERM)
    assert job.wait().reason is Reason.TERMINATED


def test_told_to_end_before_the_servers_are_ready(start: Any) -> None:
    job = start(environment={"REWARD_PROFILING_SIMULATE_READY_AFTER_S": "60"})
    servers = job.part("gym-servers")
    job.signal(signal.SIGTERM)
    assert job.wait().reason is Reason.TERMINATED
    assert gone(servers)


def test_a_killed_batch_script_leaves_no_record_and_no_process(plan: Plan, start: Any) -> None:
    job = start(environment=SLOW)
    job.wait_for_rows()
    collector, servers = job.part("collector"), job.part("gym-servers")
    job.process.kill()
    job.process.wait()
    wait_for(lambda: gone(collector) and gone(servers), lambda: "parts outlived their job")
    assert read_exit_record(job.shard.exit_record(1)) is None
    assert start(2).wait().reason is Reason.COMPLETE and _every_key_once(plan)


def test_a_shard_that_another_job_collects_is_left_alone(plan: Plan, start: Any) -> None:
    shard = plan.sweep.shard(0)
    with (shard.path / ".collect.lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        job = start()
        wait_for(lambda: job.log().count("another job"), job.log)
        assert not shard.rollouts.exists()
    assert job.wait().reason is Reason.COMPLETE


def test_a_missing_variable_is_named_and_its_value_never_shown(plan: Plan, start: Any) -> None:
    record = start(secrets=("RP_TEST_KEY",)).wait()
    assert record.reason is Reason.CANNOT_START and "RP_TEST_KEY" in record.message and record.before is None
    plan.sweep.sweep_config.write_text('config_paths: ["${oc.env:RP_TEST_KEY}.yaml", "s3cr3t-value.yaml"]\n')
    second = start(2, secrets=("RP_TEST_KEY",), environment={"RP_TEST_KEY": "s3cr3t-value"}).wait()
    assert second.reason is Reason.GYM_NOT_READY and "s3cr3t-value" not in second.message


def test_a_sweep_in_a_folder_with_an_odd_name(tmp_path: Path) -> None:
    odd = one_shard(tmp_path / "a b=ü, {c}")
    assert RunningJob(odd, jobs.settings()).wait().reason is Reason.COMPLETE
    assert _every_key_once(odd)


def test_a_damaged_sweep_is_refused(plan: Plan, start: Any) -> None:
    shard = plan.sweep.shard(0)
    shard.work_list.write_bytes(shard.work_list.read_bytes()[:-100])
    record = start().wait()
    assert record.reason is Reason.CANNOT_START and "work list" in record.message
    assert not list(shard.attempt_logs(1).glob("gym*"))
