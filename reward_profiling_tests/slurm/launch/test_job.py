"""job.sh under a real Slurm: its header read by sbatch itself, and its ends by scancel, walltime and a dead step."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.slurm_cluster import SlurmCluster
from reward_profiling.launch.exit_record import ExitRecord, Reason, read_exit_record
from reward_profiling.launch.quoting import sbatch_option
from reward_profiling.launch.script import job_log, render_job
from reward_profiling.scheduler.protocol import JobSpec
from reward_profiling.scheduler.slurm import SlurmScheduler
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.layout import ShardDir
from reward_profiling_tests import jobs
from reward_profiling_tests.jobs import wait_for

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]

VALUES = {
    "comment": "a b # \"q\" \\ back 'x' $HOME `id` $(id) ü %j",
    "mail-user": "a;b&c|d",
    "wckey": " padded ",
    "account": "plain,a=b:c@d/e.f[1-3]",
    "qos": "~*?!",
}


def test_sbatch_reads_every_option_as_it_was_given(slurm_cluster: SlurmCluster, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    lines = [f"#SBATCH {sbatch_option(name, value)}" for name, value in VALUES.items()]
    script.write_text("\n".join(["#!/bin/bash", *lines, "true"]))
    said = subprocess.run(
        ["sbatch", "-vv", "--test-only", str(script)], capture_output=True, text=True, check=False, timeout=60
    ).stderr
    seen = {}
    for line in said.splitlines():
        name, colon, value = line.removeprefix("sbatch: ").partition(": ")
        if colon:
            seen[name.strip()] = value
    assert {name: seen.get(name) for name in VALUES} == VALUES, said


@pytest.fixture
def submit(slurm_cluster: SlurmCluster, tmp_path: Path) -> Callable[..., tuple[str, ShardDir]]:
    """Submits a job of 40 rollouts, one a second; its id and its shard."""
    plan: Plan = jobs.one_shard(tmp_path, tasks=10)

    def _submit(**options: str) -> tuple[str, ShardDir]:
        shard = plan.sweep.shard(0)
        settings = replace(jobs.settings(), options={"nodes": "1", **options})
        shard.job_script.write_text(render_job(shard, plan.sweep, 1, settings))
        slow = {"REWARD_PROFILING_SIMULATE_ROLLOUTS_PER_SECOND": "1"}
        spec = JobSpec("rp.test", shard.job_script, shard.path, job_log(shard, 1), settings.options, slow)
        return SlurmScheduler().submit(spec), shard

    return _submit


def _rows(shard: ShardDir) -> int:
    return shard.rollouts.read_bytes().count(b"\n") if shard.rollouts.exists() else 0


def _record(shard: ShardDir) -> ExitRecord:
    """The final record: the one with counts."""

    def final() -> ExitRecord | None:
        record = read_exit_record(shard.exit_record(1))
        return record if record is not None and record.after is not None else None

    found: ExitRecord = wait_for(final, lambda: job_log(shard, 1).read_text())
    return found


def test_scancel_leaves_a_record_and_whole_rows(submit: Callable[..., tuple[str, ShardDir]]) -> None:
    job_id, shard = submit()
    wait_for(lambda: _rows(shard) >= 2, lambda: "no rows")
    SlurmScheduler().cancel(job_id)
    record = _record(shard)
    assert (record.reason, record.job_id) == (Reason.TERMINATED, job_id)
    assert len(record.nodes) == 1 and record.nodes[0].startswith("n")
    assert record.after is not None and record.after.outstanding > 0
    assert shard.rollouts.read_bytes().endswith(b"\n")


def test_the_signal_before_the_walltime(submit: Callable[..., tuple[str, ShardDir]]) -> None:
    _, shard = submit(time="1", signal="B:USR1@50")
    record = _record(shard)
    assert record.reason is Reason.WALLTIME
    assert record.after is not None and 0 < record.after.succeeded < 40
    assert record.exit_codes == {"gym-servers": 0, "collector": 143}


def test_the_jobs_own_header_is_enough_to_submit_it_by_hand(
    slurm_cluster: SlurmCluster, submit: Callable[..., tuple[str, ShardDir]], tmp_path: Path
) -> None:
    job_id, shard = submit()
    SlurmScheduler().cancel(job_id)
    wait_for(lambda: not any(job.live for job in SlurmScheduler().queue()), lambda: "the first job does not end")
    shard.exit_record(1).unlink(missing_ok=True)
    fast = {**os.environ, "REWARD_PROFILING_SIMULATE_SEED": "1"}
    subprocess.run(["sbatch", str(shard.job_script)], env=fast, cwd=tmp_path, check=True, timeout=60)
    record = _record(shard)
    assert record.reason is Reason.COMPLETE
