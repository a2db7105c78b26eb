"""A real Slurm cluster for the tests of this lane, raised once and mended before each test."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.slurm_cluster import SlurmCluster
from reward_profiling_tests.parts import require

_CURE = "install Slurm's daemons and munge (Debian: apt-get install slurm-wlm munge)"


def require_slurm() -> None:
    """Skip, or fail where every lane is required, unless Slurm's daemons and munge are installed."""
    for program in ("slurmctld", "slurmd", "munged", "sbatch", "squeue"):
        require(program, _CURE)


def ask(cluster: SlurmCluster, *command: str) -> str:
    """What one of Slurm's commands says of `cluster`."""
    environment = {**os.environ, **cluster.environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout


def with_settings(cluster: SlurmCluster, folder: Path, **settings: str) -> str:
    """A copy of the cluster's slurm.conf, for clients, in which some settings are others."""
    lines = [line for line in cluster.files.config.read_text().splitlines() if line.partition("=")[0] not in settings]
    changed = folder / "slurm.conf"
    changed.write_text("\n".join([*lines, *(f"{name}={value}" for name, value in settings.items())]) + "\n")
    return str(changed)


@pytest.fixture(scope="session")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    require_slurm()
    with SlurmCluster.raise_(tmp_path_factory.mktemp("slurm"), nodes=4, cpus=4) as cluster:
        yield cluster


@pytest.fixture
def slurm_cluster(_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    """Four nodes, n1 to n4, all ready, with no live job; this process's Slurm commands talk to it."""
    for name, value in _cluster.environment.items():
        monkeypatch.setenv(name, value)
    yield _cluster
    monkeypatch.undo()  # whatever the test did to PATH or SLURM_CONF must not hinder the mending
    ask(_cluster, "scancel", "--me")
    for name in _cluster.dead_nodes:
        _cluster.restart_node(name)
    _cluster.wait_ready()
