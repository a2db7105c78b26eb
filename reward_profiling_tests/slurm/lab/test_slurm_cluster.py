"""The lab's cluster: up by its script, beside another one, and gone without a trace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.slurm_cluster import SlurmCluster
from reward_profiling.scheduler.processes import processes_with
from reward_profiling.scheduler.protocol import JobState
from reward_profiling.scheduler.slurm import SlurmScheduler
from reward_profiling_tests.parts import REPOSITORY
from reward_profiling_tests.scheduler_contract import Stage

pytestmark = pytest.mark.slurm


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lab.slurm_cluster", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)


def processes_of(config: Path) -> tuple[int, ...]:
    return processes_with(lambda environment: os.fsencode(f"SLURM_CONF={config}") in environment)


def test_a_second_cluster_comes_and_goes_beside_the_first(
    slurm_cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = script("up", "--dir", str(tmp_path / "c"), "--nodes", "2")
    assert up.returncode == 0, up.stderr
    config = tmp_path / "c" / "etc" / "slurm.conf"
    assert up.stdout.splitlines()[0] == f"export SLURM_CONF={config}"
    again = script("up", "--dir", str(tmp_path / "c"))
    assert again.returncode == 2 and "take it down first" in again.stderr and len(again.stderr.splitlines()) == 1

    monkeypatch.setenv("SLURM_CONF", str(config))
    stage = Stage(SlurmScheduler(), tmp_path, "", time_limit="1", expire=lambda job_id: None)
    stage.wait(stage.scheduler.submit(stage.spec("touch running; setsid sleep 600 & sleep 600")), JobState.RUNNING)
    stage.wait_for("running")
    monkeypatch.delenv("SLURM_CONF")

    assert len(processes_of(config)) > 4  # munged, slurmctld, two slurmd and the job
    down = script("down", "--dir", str(tmp_path / "c"))
    assert (down.returncode, down.stdout, down.stderr) == (0, "", "")
    assert processes_of(config) == ()
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["logs"]
    assert script("down", "--dir", str(tmp_path / "c")).returncode == 0
    slurm_cluster.wait_ready()


def test_ended_jobs_are_forgotten_after_min_job_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SlurmCluster.raise_(tmp_path / "c", nodes=1, min_job_age=2) as cluster:
        monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
        stage = Stage(SlurmScheduler(), tmp_path, "", time_limit="1", expire=lambda job_id: None)
        job_id = stage.scheduler.submit(stage.spec("exit 0"))
        stage.wait(job_id, JobState.COMPLETED)
        stage.wait_forgotten(job_id)
        assert stage.scheduler.history([job_id]) == {}
        stage.scheduler.cancel(job_id)
        assert f"JobId={job_id} " in cluster.files.ended_jobs.read_text()
