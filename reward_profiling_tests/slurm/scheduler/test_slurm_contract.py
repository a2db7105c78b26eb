"""Slurm by its commands keeps the contract, on a real cluster."""

from pathlib import Path

import pytest

from lab.slurm_cluster import SlurmCluster
from reward_profiling.scheduler.slurm import SlurmScheduler
from reward_profiling_tests.scheduler_contract import SchedulerContract, Stage
from reward_profiling_tests.slurm.conftest import ask

pytestmark = pytest.mark.slurm


@pytest.fixture
def stage(slurm_cluster: SlurmCluster, tmp_path: Path) -> Stage:
    def expire(job_id: str) -> None:
        ask(slurm_cluster, "scontrol", "update", f"JobId={job_id}", "EndTime=now")

    return Stage(
        SlurmScheduler(),
        tmp_path,
        "from reward_profiling.scheduler.slurm import SlurmScheduler\nscheduler = SlurmScheduler()",
        time_limit="1",
        expire=expire,
    )


class TestSlurmScheduler(SchedulerContract):
    pass
