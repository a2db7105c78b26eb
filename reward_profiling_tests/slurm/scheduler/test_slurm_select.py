"""Which scheduler is found where there is a cluster."""

from pathlib import Path

import pytest

from lab.slurm_cluster import SlurmCluster
from reward_profiling.errors import LaunchError, SchedulerUnknownError
from reward_profiling.scheduler.local import LocalScheduler
from reward_profiling.scheduler.select import find_scheduler
from reward_profiling.scheduler.slurm import SlurmScheduler
from reward_profiling_tests.slurm.conftest import require_slurm, with_settings

pytestmark = pytest.mark.slurm


def test_slurm_is_used_where_it_answers(slurm_cluster: SlurmCluster, tmp_path: Path) -> None:
    assert isinstance(find_scheduler(None, local_directory=tmp_path, slots=1), SlurmScheduler)
    assert isinstance(find_scheduler("slurm", local_directory=tmp_path, slots=1), SlurmScheduler)
    assert isinstance(find_scheduler("local", local_directory=tmp_path, slots=1), LocalScheduler)


def test_a_cluster_that_is_down_is_not_replaced_by_this_machine(
    slurm_cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = with_settings(slurm_cluster, tmp_path, SlurmctldPort="1", MessageTimeout="1")
    monkeypatch.setenv("SLURM_CONF", down)
    with pytest.raises(SchedulerUnknownError, match=r"does not answer.*--scheduler local"):
        find_scheduler(None, local_directory=tmp_path, slots=1)
    assert isinstance(find_scheduler("slurm", local_directory=tmp_path, slots=1), SlurmScheduler)
    assert isinstance(find_scheduler("local", local_directory=tmp_path, slots=1), LocalScheduler)


def test_commands_without_a_cluster_are_no_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_slurm()
    if Path("/etc/slurm/slurm.conf").exists():
        pytest.skip("this machine belongs to a cluster")
    monkeypatch.delenv("SLURM_CONF", raising=False)
    assert isinstance(find_scheduler(None, local_directory=tmp_path, slots=1), LocalScheduler)
    with pytest.raises(LaunchError, match=r"no Slurm here.*--scheduler local"):
        find_scheduler("slurm", local_directory=tmp_path, slots=1)
