"""What Slurm says when something is wrong, and that it is never taken for the end of a job."""

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.slurm_cluster import SlurmCluster
from reward_profiling.errors import LaunchError, SchedulerUnknownError
from reward_profiling.scheduler.processes import identify
from reward_profiling.scheduler.protocol import JobSpec, JobState
from reward_profiling.scheduler.slurm import SlurmScheduler
from reward_profiling_tests.scheduler_contract import Stage
from reward_profiling_tests.slurm.conftest import ask, with_settings

pytestmark = pytest.mark.slurm

WAITING = "touch running; until [ -e go ]; do sleep 0.1; done"


@pytest.fixture
def stage(slurm_cluster: SlurmCluster, tmp_path: Path) -> Stage:
    return Stage(SlurmScheduler(), tmp_path, "", time_limit="1", expire=lambda job_id: None)


def questions(scheduler: SlurmScheduler, spec: JobSpec) -> list[Callable[[], object]]:
    return [
        scheduler.queue,
        lambda: scheduler.history(["1"]),
        lambda: scheduler.cancel("1"),
        lambda: scheduler.submit(spec),
    ]


def test_a_controller_that_is_not_there_is_unknown(
    stage: Stage, slurm_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = stage.spec("exit 0")
    # With a message timeout of a second the commands do not try again for long.
    settings = with_settings(slurm_cluster, stage.folder, SlurmctldPort="1", MessageTimeout="1")
    monkeypatch.setenv("SLURM_CONF", settings)
    for question in questions(SlurmScheduler(), spec):
        with pytest.raises(SchedulerUnknownError, match=r"^s[a-z]+: .*[Uu]nable to contact slurm controller") as error:
            question()
        assert "\n" not in str(error.value)


def test_a_command_without_an_answer_is_unknown(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = stage.spec("exit 0")
    monkeypatch.setenv("SLURM_CONF", str(stage.folder / "absent.conf"))  # Slurm waits a minute for it to appear
    for question in questions(SlurmScheduler(timeout=0.3), spec):
        with pytest.raises(SchedulerUnknownError, match=r"no answer within 0\.3 s"):
            question()


def test_accounting_that_does_not_answer_is_unknown_only_where_it_matters(
    stage: Stage, slurm_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = stage.scheduler.submit(stage.spec("exit 0"))
    stage.wait(job_id, JobState.COMPLETED)
    accounting = {"AccountingStorageType": "accounting_storage/slurmdbd", "AccountingStoragePort": "1"}
    monkeypatch.setenv("SLURM_CONF", with_settings(slurm_cluster, stage.folder, **accounting))
    assert set(stage.scheduler.history([job_id])) == {job_id}
    with pytest.raises(SchedulerUnknownError, match=r"^sacct: "):
        stage.scheduler.history([job_id, "7777777"])


def test_without_its_commands_there_is_no_slurm(stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = stage.spec("exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchError, match=r"no Slurm here.*--scheduler local"):
        stage.scheduler.submit(spec)
    with pytest.raises(SchedulerUnknownError, match="squeue: no such command"):
        stage.scheduler.queue()


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("partition", "nowhere", "Invalid partition"),
        ("no-such-option", "1", "unrecognized option"),
        ("gres", "gpu:8", "Invalid generic resource"),
        ("mem", "999999G", "Requested node configuration is not available"),
        ("requeue", None, "requeue is set for every job"),
        ("array", "1-3", "array is set for every job"),
        ("export", "NONE", "export is set for every job"),
    ],
)
def test_a_refusal_is_told_in_slurms_words(stage: Stage, option: str, value: str | None, words: str) -> None:
    spec = stage.spec("exit 0", name="refused")
    with pytest.raises(LaunchError, match=words) as refusal:
        stage.scheduler.submit(JobSpec(spec.name, spec.script, spec.directory, spec.log, {option: value}))
    assert "\n" not in str(refusal.value) and refusal.value.cure
    # Of some refusals Slurm keeps a record as FAILED; what matters is that nothing will run.
    assert [job for job in stage.scheduler.queue() if job.name == "refused" and job.live] == []


def test_options_reach_slurm_and_ours_prevail_over_the_script(stage: Stage, slurm_cluster: SlurmCluster) -> None:
    spec = stage.spec("#SBATCH --requeue\n#SBATCH --job-name=other\n" + WAITING)
    options = {"nodes": "2", "exclusive": None, "comment": "two words; $(touch /never)"}
    job_id = stage.scheduler.submit(JobSpec(spec.name, spec.script, spec.directory, spec.log, options))
    job = stage.wait(job_id, JobState.RUNNING)
    assert job.name == spec.name
    assert len(job.nodes) == 2 and set(job.nodes) <= set(slurm_cluster.shape.names)
    details = ask(slurm_cluster, "scontrol", "show", "job", job_id)
    assert "Requeue=0" in details and "OverSubscribe=NO" in details and "Comment=two words; $(touch /never)" in details


def test_odd_jobs_of_the_same_user_do_not_disturb(stage: Stage, slurm_cluster: SlurmCluster) -> None:
    command = ("sbatch", "--parsable", f"--output={stage.folder}/odd", "--hold", "--wrap=exit 0")
    name = 'a|b c\td\n77 COMPLETED "é" %j'
    odd = ask(slurm_cluster, *command, f"--job-name={name}").strip()
    array = ask(slurm_cluster, *command, "--array=1-20%2", "--job-name=array").strip()
    job_id = stage.scheduler.submit(stage.spec("exit 0"))
    stage.wait(job_id, JobState.COMPLETED)
    assert stage.find(odd).name == name
    assert stage.find(array).name == "array"
    assert "77" not in {job.id for job in stage.scheduler.queue()}


def test_a_lost_node_ends_its_job_as_node_fail(stage: Stage, slurm_cluster: SlurmCluster) -> None:
    spec = stage.spec("echo $$ > pid; setsid sleep 600 & echo $! > other; " + WAITING, nodelist="n4")
    job_id = stage.scheduler.submit(spec)
    stage.wait_for("running")
    slurm_cluster.kill_node("n4")
    for file in ("pid", "other"):  # nothing goes on writing on a node without power
        assert identify(int((stage.folder / file).read_text())) is None
    failed = stage.wait(job_id, JobState.NODE_FAIL, seconds=60)
    assert failed.nodes == ("n4",)
    slurm_cluster.restart_node("n4")
    slurm_cluster.wait_ready()
    again = stage.scheduler.submit(stage.spec("exit 0", nodelist="n4"))
    stage.wait(again, JobState.COMPLETED)


def test_a_restarted_controller_remembers_its_jobs(stage: Stage, slurm_cluster: SlurmCluster) -> None:
    job_id = stage.scheduler.submit(stage.spec(WAITING))
    stage.wait_for("running")
    slurm_cluster.restart_controller()
    slurm_cluster.wait_ready()
    assert stage.find(job_id).state is JobState.RUNNING
    (stage.folder / "go").touch()
    stage.wait(job_id, JobState.COMPLETED)


def test_a_secret_is_no_argument_of_sbatch(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("sbatch")
    seen = stage.folder / "arguments"
    (stage.folder / "bin").mkdir()
    witness = stage.folder / "bin" / "sbatch"
    witness.write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" > {seen}\nexec {real} "$@"\n')
    witness.chmod(0o755)
    monkeypatch.setenv("PATH", str(witness.parent), prepend=os.pathsep)
    spec = dataclasses.replace(stage.spec('echo "${TOKEN#hush-}"'), environment={"TOKEN": "hush-8f3a61"})
    stage.wait(stage.scheduler.submit(spec), JobState.COMPLETED)
    assert stage.log() == "8f3a61\n"
    assert "--parsable" in seen.read_text() and "8f3a61" not in seen.read_text()
