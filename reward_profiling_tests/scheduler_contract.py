"""What every scheduler must do, as tests that each implementation inherits.

A lane's test class derives from `SchedulerContract` and provides the fixture `stage`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from reward_profiling.errors import LaunchError
from reward_profiling.scheduler.protocol import Job, JobSpec, JobState, Scheduler

ENDED = tuple(state for state in JobState if state.ended)
SECRET = "hush-8f3a61"
TRAPPING = "trap 'echo told to end; exit 7' TERM; touch running; while true; do sleep 0.1; done"


@dataclass
class Stage:
    """One scheduler, a folder for the jobs' files, and how to speak with jobs in it.

    `time_limit` is the shortest that the scheduler takes; `expire` lets a running job's limit pass at once where that
    is minutes. `make_scheduler` is Python code that binds `scheduler`, for another process.
    """

    scheduler: Scheduler
    folder: Path
    make_scheduler: str
    time_limit: str
    expire: Callable[[str], None]

    def spec(
        self, body: str, *, name: str = "rp.a-nick.name_1.shard_000.0123abcd", log: str = "job.log", **options: str
    ) -> JobSpec:
        script = self.folder / f"{len(list(self.folder.glob('*.sh')))}.sh"
        script.write_text(f"#!/bin/bash\n{body}\n")
        return JobSpec(name, script, self.folder, self.folder / "logs" / log, dict(options))

    def find(self, job_id: str) -> Job:
        return {job.id: job for job in self.scheduler.queue()}[job_id]

    def wait(self, job_id: str, *states: JobState, seconds: float = 60) -> Job:
        """The job once it is in one of `states`; an error as soon as it has ended in another."""
        deadline = time.monotonic() + seconds
        while (job := self.find(job_id)).state not in states:
            assert job.live, f"{job} has ended"
            assert time.monotonic() < deadline, f"{job} is not {states} after {seconds} s"
            time.sleep(0.1)
        return job

    def wait_forgotten(self, job_id: str, seconds: float = 60) -> None:
        """Wait until the queue does not know a job any more."""
        deadline = time.monotonic() + seconds
        while job_id in {job.id for job in self.scheduler.queue()}:
            assert time.monotonic() < deadline, f"job {job_id} is still known after {seconds} s"
            time.sleep(0.2)

    def wait_for(self, name: str, seconds: float = 60) -> None:
        """Wait until a job has made the file `name` in the folder."""
        deadline = time.monotonic() + seconds
        while not (self.folder / name).exists():
            assert time.monotonic() < deadline, f"no {name} after {seconds} s"
            time.sleep(0.05)

    def log(self, name: str = "job.log") -> str:
        return (self.folder / "logs" / name).read_text()


def command_lines() -> list[bytes]:
    """The arguments of every process of this machine."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return lines


class SchedulerContract:
    """The suite; `stage` is the fixture that a lane provides."""

    def test_a_job_is_seen_from_submission_to_its_end(self, stage: Stage) -> None:
        before = time.time()
        spec = stage.spec("echo out; echo err >&2; touch running; until [ -e go ]; do sleep 0.1; done; pwd")
        job_id = stage.scheduler.submit(spec)
        running = stage.wait(job_id, JobState.RUNNING)
        assert running.name == spec.name
        assert running.live and running.nodes and running.ended_at is None and running.exit_code is None
        stage.wait_for("running")
        (stage.folder / "go").touch()
        ended = stage.wait(job_id, JobState.COMPLETED)
        assert not ended.live and ended.exit_code == 0 and ended.nodes == running.nodes
        assert ended.submitted_at and ended.started_at and ended.ended_at
        assert before - 1 <= ended.submitted_at <= ended.started_at <= ended.ended_at <= time.time() + 1
        assert stage.log().split() == ["out", "err", str(stage.folder)]

    @pytest.mark.parametrize(("body", "code"), [("exit 3", 3), ("kill -9 $$", 137)])
    def test_a_failing_script_is_failed_with_its_code(self, stage: Stage, body: str, code: int) -> None:
        ended = stage.wait(stage.scheduler.submit(stage.spec(body)), JobState.FAILED)
        assert ended.exit_code == code

    def test_cancel_asks_a_running_job_politely(self, stage: Stage) -> None:
        job_id = stage.scheduler.submit(stage.spec(TRAPPING))
        stage.wait_for("running")
        stage.scheduler.cancel(job_id)
        assert stage.wait(job_id, JobState.CANCELLED).ended_at
        assert "told to end" in stage.log()
        stage.scheduler.cancel(job_id)  # once more is no error

    def test_cancel_ends_a_job_that_does_not_listen(self, stage: Stage) -> None:
        job_id = stage.scheduler.submit(stage.spec("trap '' TERM; touch running; while true; do sleep 0.1; done"))
        stage.wait_for("running")
        stage.scheduler.cancel(job_id)
        stage.wait(job_id, JobState.CANCELLED)

    def test_one_job_of_a_name_at_a_time_and_a_waiting_one_can_be_cancelled(self, stage: Stage) -> None:
        first, second, third = (
            stage.scheduler.submit(stage.spec(f"touch running-{turn}; until [ -e go ]; do sleep 0.1; done"))
            for turn in range(3)
        )
        stage.wait(first, JobState.RUNNING)
        stage.wait_for("running-0")
        assert {stage.find(second).state, stage.find(third).state} == {JobState.PENDING}
        stage.scheduler.cancel(second)
        cancelled = stage.wait(second, JobState.CANCELLED)
        assert cancelled.started_at is None
        other = stage.scheduler.submit(stage.spec("exit 0", name="other"))
        stage.wait(other, JobState.COMPLETED)
        assert stage.find(first).state is JobState.RUNNING and stage.find(third).state is JobState.PENDING
        (stage.folder / "go").touch()
        finished, following = stage.wait(first, JobState.COMPLETED), stage.wait(third, JobState.COMPLETED)
        assert finished.ended_at and following.started_at and finished.ended_at <= following.started_at
        assert not (stage.folder / "running-1").exists()

    def test_a_time_limit_ends_a_job(self, stage: Stage) -> None:
        job_id = stage.scheduler.submit(stage.spec(TRAPPING, time=stage.time_limit))
        stage.wait_for("running")
        stage.expire(job_id)
        stage.wait(job_id, JobState.TIMEOUT, seconds=100)
        assert "told to end" in stage.log()

    def test_history_knows_what_there_is_and_leaves_out_what_there_is_not(self, stage: Stage) -> None:
        job_id = stage.scheduler.submit(stage.spec("exit 4"))
        stage.wait(job_id, JobState.FAILED)
        known = stage.scheduler.history([job_id, "7777777", "local-7777777", "no id", ""])
        assert known == {job_id: stage.find(job_id)}
        assert stage.scheduler.history([]) == {}

    def test_a_secret_reaches_the_job_and_nothing_else(self, stage: Stage) -> None:
        spec = stage.spec('[ "${TOKEN#hush-}" = 8f3a61 ] && touch running; until [ -e go ]; do sleep 0.1; done')
        spec = JobSpec(spec.name, spec.script, spec.directory, spec.log, {}, {"TOKEN": SECRET})
        job_id = stage.scheduler.submit(spec)
        stage.wait_for("running")
        assert "TOKEN" not in os.environ
        assert [line for line in command_lines() if SECRET.encode() in line] == []
        assert [path for path in stage.folder.rglob("*") if path.is_file() and SECRET in path.read_text()] == []
        (stage.folder / "go").touch()
        stage.wait(job_id, JobState.COMPLETED)

    def test_nothing_of_a_surrounding_job_leaks_in(self, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SLURM_JOB_ID", "999999")
        monkeypatch.setenv("SLURM_NTASKS", "64")
        monkeypatch.setenv("RP_JOB_ID", "local-999999")
        monkeypatch.setenv("SBATCH_PARTITION", "nowhere")
        monkeypatch.setenv("SQUEUE_STATES", "PENDING")
        monkeypatch.setenv("KEPT", "kept")
        job_id = stage.scheduler.submit(stage.spec("echo ${SLURM_JOB_ID:-$RP_JOB_ID} ${SLURM_NTASKS:-no} $KEPT"))
        stage.wait(job_id, JobState.COMPLETED)
        assert stage.log().split() == [job_id, "no", "kept"]

    def test_a_job_outlives_its_submitter(self, stage: Stage) -> None:
        spec = stage.spec("until [ -e go ]; do sleep 0.1; done")
        code = (
            "from pathlib import Path; from reward_profiling.scheduler.protocol import JobSpec\n"
            f"{stage.make_scheduler}\n"
            f"print(scheduler.submit(JobSpec({spec.name!r}, Path({str(spec.script)!r}), Path({str(spec.directory)!r}),"
            f" Path({str(spec.log)!r}))))"
        )
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
        job_id = told.stdout.strip()
        stage.wait(job_id, JobState.RUNNING)
        (stage.folder / "go").touch()
        stage.wait(job_id, JobState.COMPLETED)

    def test_ids_of_concurrent_submitters_differ(self, stage: Stage) -> None:
        specs = [stage.spec("exit 0", name=f"crowd.{number}", log=f"{number}.log") for number in range(6)]
        with ThreadPoolExecutor(6) as pool:
            ids = list(pool.map(stage.scheduler.submit, specs))
        assert len(set(ids)) == 6
        names = {stage.wait(job_id, JobState.COMPLETED).name for job_id in ids}
        assert names == {spec.name for spec in specs}

    def test_the_script_that_was_submitted_runs(self, stage: Stage) -> None:
        stage.scheduler.submit(stage.spec("touch running; until [ -e go ]; do sleep 0.1; done"))
        stage.wait_for("running")
        waiting = stage.spec("echo as submitted", log="second.log")
        job_id = stage.scheduler.submit(waiting)
        waiting.script.write_text("#!/bin/bash\necho rewritten since\n")
        (stage.folder / "go").touch()
        stage.wait(job_id, JobState.COMPLETED)
        assert stage.log("second.log") == "as submitted\n"

    def test_a_log_may_have_any_name_and_is_appended_to(self, stage: Stage) -> None:
        for _ in range(2):
            job_id = stage.scheduler.submit(stage.spec("echo line", log="100%j %% .log"))
            stage.wait(job_id, JobState.COMPLETED)
        assert stage.log("100%j %% .log") == "line\nline\n"

    def test_what_cannot_run_is_refused_in_one_line(self, stage: Stage) -> None:
        good = stage.spec("exit 0")
        bare = stage.folder / "bare.sh"
        bare.write_text("exit 0\n")
        known = {job.id for job in stage.scheduler.queue()}
        for spec, place in [
            (JobSpec(good.name, stage.folder / "absent.sh", good.directory, good.log), "absent.sh"),
            (JobSpec(good.name, bare, good.directory, good.log), "bare.sh:1"),
            (JobSpec(good.name, good.script, stage.folder / "absent", good.log), "absent"),
            (JobSpec("two words", good.script, good.directory, good.log), "two words"),
            (JobSpec(good.name, good.script, good.directory, good.log, {"--time": "1"}), "--time"),
            (JobSpec(good.name, good.script, good.directory, good.log, {"time": "soon"}), "time"),
            (JobSpec(good.name, good.script, good.directory, good.log, {"comment": "a\nb"}), "comment"),
        ]:
            with pytest.raises(LaunchError, match=place) as refusal:
                stage.scheduler.submit(spec)
            assert "\n" not in str(refusal.value)
        assert {job.id for job in stage.scheduler.queue()} == known
