"""What becomes of a local job whose supervisor is killed, and what a supervisor does besides the contract."""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reward_profiling.errors import LaunchError, SchedulerUnknownError
from reward_profiling.scheduler.local import LocalScheduler
from reward_profiling.scheduler.local_records import MARK
from reward_profiling.scheduler.processes import identify, marked
from reward_profiling.scheduler.protocol import JobSpec, JobState
from reward_profiling_tests.scheduler_contract import Stage

STUBBORN = "trap '' TERM; echo $$ > pid; touch running; while true; do sleep 0.1; done"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    scheduler = LocalScheduler(tmp_path / "scheduler", slots=2, kill_wait=0.5)
    yield Stage(scheduler, tmp_path, "", time_limit="0:01", expire=lambda job_id: None)
    for job in scheduler.queue():
        if job.live:
            scheduler.cancel(job.id)


def folder(stage: Stage, job_id: str) -> Path:
    return stage.folder / "scheduler" / "jobs" / f"{int(job_id.removeprefix('local-')):06d}"


def supervisor(stage: Stage, job_id: str) -> int:
    pid = json.loads((folder(stage, job_id) / "state.json").read_text())["supervisor"]["pid"]
    assert isinstance(pid, int)
    return pid


def kill_supervisor(stage: Stage, job_id: str) -> None:
    os.kill(supervisor(stage, job_id), signal.SIGKILL)
    wait_for_supervisor(stage, job_id)


def wait_for_supervisor(stage: Stage, job_id: str) -> None:
    """Wait until the supervisor itself is gone, which bears its job's mark as well."""
    deadline = time.monotonic() + 60
    while identify(supervisor(stage, job_id)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_job_without_supervisor_is_not_ended_while_it_may_write(stage: Stage) -> None:
    job_id = stage.scheduler.submit(stage.spec(STUBBORN))
    stage.wait_for("running")
    waiting = stage.scheduler.submit(stage.spec("exit 0"))  # of the same name
    kill_supervisor(stage, job_id)
    batch = int((stage.folder / "pid").read_text())
    seen = stage.find(job_id)
    assert seen.state is JobState.COMPLETING and "supervisor died" in seen.reason and identify(batch)
    assert stage.find(waiting).state is JobState.PENDING
    failed = stage.wait(job_id, JobState.FAILED)
    assert identify(batch) is None and "supervisor died" in failed.reason and failed.ended_at
    assert stage.wait(waiting, JobState.COMPLETED).started_at >= failed.ended_at - 0.001  # type: ignore[operator]


def test_a_job_without_supervisor_may_stop_cleanly(stage: Stage) -> None:
    body = "trap 'sleep 0.2; echo clean > end; exit' TERM; touch running; while true; do sleep 0.05; done"
    job_id = stage.scheduler.submit(stage.spec(body))
    stage.wait_for("running")
    kill_supervisor(stage, job_id)
    stage.wait(job_id, JobState.FAILED)
    assert (stage.folder / "end").read_text() == "clean\n"


def test_a_waiting_job_without_supervisor_has_failed(stage: Stage) -> None:
    stage.scheduler.submit(stage.spec("sleep 60"))
    job_id = stage.scheduler.submit(stage.spec("touch never"))
    kill_supervisor(stage, job_id)
    assert stage.find(job_id).state is JobState.FAILED
    assert stage.scheduler.history([job_id])[job_id].state is JobState.FAILED


def test_cancel_reaches_a_job_without_supervisor(stage: Stage) -> None:
    job_id = stage.scheduler.submit(stage.spec(STUBBORN))
    stage.wait_for("running")
    kill_supervisor(stage, job_id)
    stage.scheduler.cancel(job_id)
    stage.wait(job_id, JobState.CANCELLED)
    assert marked(MARK, str(folder(stage, job_id))) == ()


def test_an_end_is_written_after_the_last_process_is_gone(stage: Stage) -> None:
    left = "(trap '' TERM; echo $BASHPID > pid; while true; do sleep 0.1; done)"
    body = f"{left} & setsid sleep 60 & until [ -s pid ]; do sleep 0.05; done; exit 0"
    job_id = stage.scheduler.submit(stage.spec(body))
    ended = stage.wait(job_id, JobState.COMPLETED)
    assert ended.exit_code == 0
    wait_for_supervisor(stage, job_id)
    assert marked(MARK, str(folder(stage, job_id))) == ()
    assert identify(int((stage.folder / "pid").read_text())) is None


def test_a_restart_of_the_machine_is_a_node_failure(stage: Stage) -> None:
    job_id = stage.scheduler.submit(stage.spec("sleep 60"))
    stage.wait(job_id, JobState.RUNNING)
    stage.scheduler.cancel(job_id)
    stage.wait(job_id, JobState.CANCELLED)
    wait_for_supervisor(stage, job_id)
    change_record(stage, job_id, state="RUNNING", boot="another boot")
    (folder(stage, job_id) / "cancel").unlink()
    fresh = LocalScheduler(stage.folder / "scheduler")
    assert fresh.history([job_id])[job_id].state is JobState.NODE_FAIL


def test_a_job_of_another_machine_is_unknown_until_it_has_ended(stage: Stage) -> None:
    job_id = stage.scheduler.submit(stage.spec("exit 0"))
    stage.wait(job_id, JobState.COMPLETED)
    wait_for_supervisor(stage, job_id)
    fresh = LocalScheduler(stage.folder / "scheduler")
    change_record(stage, job_id, host="elsewhere")
    assert [job.state for job in fresh.queue()] == [JobState.COMPLETED]
    change_record(stage, job_id, state="RUNNING")
    fresh = LocalScheduler(stage.folder / "scheduler")
    for question in (fresh.queue, lambda: fresh.history([job_id]), lambda: fresh.cancel(job_id)):
        with pytest.raises(SchedulerUnknownError, match="elsewhere"):
            question()


def test_a_damaged_record_is_unknown(stage: Stage) -> None:
    job_id = stage.scheduler.submit(stage.spec("exit 0"))
    stage.wait(job_id, JobState.COMPLETED)
    (folder(stage, job_id) / "state.json").write_text('{"state": "COMPL')
    fresh = LocalScheduler(stage.folder / "scheduler")
    with pytest.raises(SchedulerUnknownError, match=folder(stage, job_id).name):
        fresh.queue()


def change_record(stage: Stage, job_id: str, *, state: str | None = None, **identity: str) -> None:
    path = folder(stage, job_id) / "state.json"
    record = json.loads(path.read_text())
    record["supervisor"].update(identity)
    record["state"] = state or record["state"]
    path.write_text(json.dumps(record))


def test_a_shutdown_is_a_node_failure_and_stops_the_job_politely(stage: Stage) -> None:
    job_id = stage.scheduler.submit(
        stage.spec("trap 'echo bye; exit' TERM; touch running; while :; do sleep 0.1; done")
    )
    stage.wait_for("running")
    os.kill(supervisor(stage, job_id), signal.SIGTERM)
    stage.wait(job_id, JobState.NODE_FAIL)
    assert stage.log().endswith("bye\n")


def test_the_script_is_warned_before_its_time_limit(stage: Stage) -> None:
    body = "trap 'echo warned; exit 0' USR1; touch running; while :; do sleep 0.1; done"
    spec = dataclasses.replace(stage.spec(body), options={"time": "0:30", "signal": "B:USR1@29"})
    job_id = stage.scheduler.submit(spec)
    ended = stage.wait(job_id, JobState.COMPLETED)
    assert stage.log() == "warned\n"
    assert ended.ended_at and ended.started_at and 0.8 < ended.ended_at - ended.started_at < 20


def test_what_the_submitter_ignores_the_script_can_trap(stage: Stage) -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        job_id = stage.scheduler.submit(stage.spec("trap 'echo trapped' USR1; kill -USR1 $$"))
    finally:
        signal.signal(signal.SIGUSR1, before)
    stage.wait(job_id, JobState.COMPLETED)
    assert stage.log() == "trapped\n"


def test_a_script_without_an_interpreter_fails_with_a_reason(stage: Stage) -> None:
    script = stage.folder / "odd.sh"
    script.write_text("#!/no/such/interpreter\n")
    job_id = stage.scheduler.submit(JobSpec("odd", script, stage.folder, stage.folder / "odd.log"))
    failed = stage.wait(job_id, JobState.FAILED)
    assert "cannot be run" in failed.reason


def test_slots_bound_the_jobs_at_a_time(stage: Stage) -> None:
    body = "touch running-$RP_JOB_ID; until [ -e go ]; do sleep 0.05; done"
    ids = [stage.scheduler.submit(stage.spec(body, name=f"job.{number}")) for number in range(3)]
    for job_id in ids[:2]:
        stage.wait_for(f"running-{job_id}")
    assert [job.state.value for job in stage.scheduler.queue()] == ["RUNNING", "RUNNING", "PENDING"]
    (stage.folder / "go").touch()
    for job_id in ids:
        stage.wait(job_id, JobState.COMPLETED)
    with pytest.raises(LaunchError, match="too few"):
        LocalScheduler(stage.folder, slots=0)


def test_old_records_are_pruned_and_their_numbers_not_used_again(stage: Stage) -> None:
    first = stage.scheduler.submit(stage.spec("exit 0"))
    stage.wait(first, JobState.COMPLETED)
    path = folder(stage, first) / "state.json"
    record = json.loads(path.read_text())
    record["ended_at"] -= 31 * 24 * 3600
    path.write_text(json.dumps(record))
    second = LocalScheduler(stage.folder / "scheduler").submit(stage.spec("exit 0"))
    assert second == "local-2" and not folder(stage, first).exists()
    assert stage.scheduler.history([first]) == {}
    stage.wait(second, JobState.COMPLETED)


def test_the_job_finds_its_id_and_no_imitation_of_slurm(stage: Stage) -> None:
    job_id = stage.scheduler.submit(stage.spec("env"))
    stage.wait(job_id, JobState.COMPLETED)
    assert f"RP_JOB_ID={job_id}" in stage.log().splitlines()
    assert [line for line in stage.log().splitlines() if line.startswith("SLURM_JOB")] == []
    assert stage.find(job_id).nodes == (socket.gethostname(),)


def test_a_zombie_is_dead() -> None:
    process = subprocess.Popen(["true"])
    deadline = time.monotonic() + 10
    while identify(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert process.wait() == 0
