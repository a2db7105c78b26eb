"""A partition that the cluster does not have is found before anything waits for it."""

from pathlib import Path

import pytest

from lab.slurm_cluster import SlurmCluster
from reward_profiling.launch import cluster_check
from reward_profiling.launch.cluster_check import check_cluster
from reward_profiling.manifest.load import load_manifest
from reward_profiling.scheduler.cluster_facts import Associations, partitions
from reward_profiling_tests.slurm.conftest import ask

pytestmark = pytest.mark.slurm

MANIFEST = """nickname: x
sbatch:
  partition: {partition}
  account: physics
  qos: high
entries: [{{label: l, agent: a, configs: [c.yaml], data: d.jsonl}}]
"""


def _check(folder: Path, partition: str) -> list[str]:
    path = folder / "m.yaml"
    path.write_text(MANIFEST.format(partition=partition))
    return [problem.text for problem in check_cluster(load_manifest(path, environ={}))]


def test_the_partitions_are_the_clusters(slurm_cluster: SlurmCluster, tmp_path: Path) -> None:
    (known,) = set(ask(slurm_cluster, "sinfo", "--noheader", "--format=%R").split())
    assert partitions() == {known}
    assert _check(tmp_path, known) == []
    (line,) = _check(tmp_path, f"{known},nowhere")
    assert line.endswith(f"m.yaml:3:3: the cluster knows no partition `nowhere` for you; it knows: {known}")


def test_a_cluster_that_does_not_answer_is_not_held_against_anybody(
    slurm_cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "none.conf"))
    assert _check(tmp_path, "nowhere") == []


def test_accounts_and_qos_are_compared_where_accounting_answers(
    slurm_cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This cluster keeps no accounts; what a database would say is given here.
    allowed = Associations(frozenset({"chemistry"}), frozenset({"high", "low"}))
    monkeypatch.setattr(cluster_check, "associations", lambda: allowed)
    (known,) = set(ask(slurm_cluster, "sinfo", "--noheader", "--format=%R").split())
    (line,) = _check(tmp_path, known)
    assert line.endswith("m.yaml:4:3: the cluster knows no account `physics` for you; it knows: chemistry")
