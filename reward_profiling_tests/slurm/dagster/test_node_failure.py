"""A sweep materialized through Dagster on a real cluster loses a node, and completes: every rollout once.

Twice: with the run alive, which submits the remainder by itself, and with the run gone, where the sensor requests it.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import dagster as dg
import orjson
import pytest

from lab.slurm_cluster import SlurmCluster
from reward_profiling.launch.ledger import Attempt, read_ledger
from reward_profiling.scheduler.protocol import Job, JobState
from reward_profiling.scheduler.slurm import SlurmScheduler
from reward_profiling.sweep.completeness import load_plan, look
from reward_profiling.sweep.layout import SweepDir, shard_name
from reward_profiling_tests.parts import REPOSITORY
from reward_profiling_tests.sweeps import keys_of_shard

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(600)]

SHARDS = 4
VICTIM = 2
ROLLOUTS = dg.AssetKey(["demo", "rollouts"])
PARTITIONS = dg.StaticPartitionsDefinition([shard_name(number) for number in range(SHARDS)])


@pytest.fixture
def environment(slurm_cluster: SlurmCluster, tmp_path: Path) -> dict[str, str]:
    """Everything that Dagster's processes need: the demo sweep, one job per node, about half a minute of work each."""
    manifests = tmp_path / "manifests"
    shutil.copytree(REPOSITORY / "manifests" / "demo", manifests / "demo")
    demo = (REPOSITORY / "manifests" / "demo.yaml").read_text()
    (manifests / "demo.yaml").write_text(f"{demo}\nsbatch:\n  exclusive: true\n")
    home = tmp_path / "dagster"
    home.mkdir()
    shutil.copy(REPOSITORY / "dagster.yaml", home)
    return {
        **os.environ,
        **slurm_cluster.environment,
        "DAGSTER_HOME": str(home),
        "REWARD_PROFILING_MANIFESTS_DIR": str(manifests),
        "REWARD_PROFILING_SWEEPS_DIR": str(tmp_path / "sweeps"),
        "REWARD_PROFILING_SCHEDULER": "slurm",
        "REWARD_PROFILING_GYM": "simulated",
        "REWARD_PROFILING_SIMULATE_ROLLOUTS_PER_SECOND": "6",
    }


@pytest.fixture
def sweep(tmp_path: Path) -> SweepDir:
    return SweepDir(tmp_path / "sweeps" / "demo")


@pytest.fixture
def instance(environment: Mapping[str, str]) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(environment["DAGSTER_HOME"]) as opened:
        yield opened


@contextlib.contextmanager
def started(environment: Mapping[str, str], folder: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own; the whole session is ended with the block."""
    with (folder / f"{Path(command[0]).name}.log").open("ab") as log:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / command[0]), *command[1:]],
            cwd=folder,
            env=dict(environment),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def materialize(
    environment: Mapping[str, str], folder: Path
) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    return started(
        environment, folder, "dagster", "asset", "materialize", "-m", "reward_profiling.definitions",
        "--select", 'key:"demo/*"', "--partition-range", f"{shard_name(0)}...{shard_name(SHARDS - 1)}",
    )  # fmt: skip


def await_(condition: Callable[[], bool], what: str, seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain for {what}"
        time.sleep(0.2)


def job_of(number: int) -> Job | None:
    """The latest job of a shard, as Slurm knows it."""
    jobs = [job for job in SlurmScheduler().queue() if f".{shard_name(number)}." in job.name]
    return max(jobs, key=lambda job: int(job.id), default=None)


def is_collecting(sweep: SweepDir, number: int) -> bool:
    path = sweep.shard(number).rollouts
    return path.exists() and path.read_bytes().count(b"\n") >= 5


def lose_the_node_of(cluster: SlurmCluster, number: int) -> None:
    """Cut the power of the node on which a shard's job runs, and wait for Slurm to notice."""
    job = job_of(number)
    assert job is not None and job.state is JobState.RUNNING
    cluster.kill_node(job.nodes[0])
    await_(lambda: SlurmScheduler().history([job.id])[job.id].state is JobState.NODE_FAIL, "NODE_FAIL")


def assert_every_rollout_once(sweep: SweepDir) -> None:
    plan = load_plan(sweep, {})
    for number in range(SHARDS):
        shard = sweep.shard(number)
        rows = [orjson.loads(line) for line in shard.rollouts.read_bytes().splitlines()]
        counted = Counter((row["_ng_task_index"], row["_ng_rollout_index"]) for row in rows)
        assert counted == Counter(keys_of_shard(shard))
        status = look(plan, number)
        assert status.complete and status.counts.succeeded == status.counts.expected and status.simulated


def assert_two_attempts(attempts: tuple[Attempt, ...]) -> None:
    """The first was lost with its node, the second was for the remainder only."""
    first, second = attempts
    assert (first.number, first.state) == (1, "NODE_FAIL")
    assert (second.number, second.state) == (2, "COMPLETED")
    assert first.job_id != second.job_id
    assert first.outstanding_after is not None
    assert 0 < first.outstanding_after < first.outstanding_before
    assert (second.outstanding_before, second.outstanding_after) == (first.outstanding_after, 0)


def statuses(instance: dg.DagsterInstance) -> set[dg.AssetPartitionStatus | None]:
    found = instance.get_status_by_partition(ROLLOUTS, PARTITIONS.get_partition_keys(), PARTITIONS) or {}
    return set(found.values())


def test_a_run_submits_the_remainder_of_a_lost_job(
    slurm_cluster: SlurmCluster,
    environment: dict[str, str],
    sweep: SweepDir,
    instance: dg.DagsterInstance,
    tmp_path: Path,
) -> None:
    with materialize(environment, tmp_path) as run:
        await_(lambda: all(is_collecting(sweep, number) for number in range(SHARDS)), "all jobs collecting")
        lose_the_node_of(slurm_cluster, VICTIM)
        assert run.wait(timeout=240) == 0
    assert statuses(instance) == {dg.AssetPartitionStatus.MATERIALIZED}
    assert_every_rollout_once(sweep)
    for number in range(SHARDS):
        attempts = read_ledger(sweep.shard(number)).attempts
        if number == VICTIM:
            assert_two_attempts(attempts)
        else:
            assert [attempt.state for attempt in attempts] == ["COMPLETED"]


def test_the_sensor_requests_a_lost_job_again_when_its_run_is_gone(
    slurm_cluster: SlurmCluster,
    environment: dict[str, str],
    sweep: SweepDir,
    instance: dg.DagsterInstance,
    tmp_path: Path,
) -> None:
    with materialize(environment, tmp_path) as run:
        await_(lambda: all(is_collecting(sweep, number) for number in range(SHARDS)), "all jobs collecting")
        run.send_signal(signal.SIGINT)  # a person logs out; the jobs go on
        assert run.wait(timeout=60) != 0
    assert all((job := job_of(number)) is not None and job.live for number in range(SHARDS))
    lose_the_node_of(slurm_cluster, VICTIM)
    # The daemon's first tick finds one lost job and three jobs that live or have completed since.
    with started(environment, tmp_path, "dagster-daemon", "run", "-m", "reward_profiling.definitions"):
        await_(lambda: statuses(instance) == {dg.AssetPartitionStatus.MATERIALIZED}, "all partitions", 300)
    assert_every_rollout_once(sweep)
    runs = instance.get_runs(dg.RunsFilter(tags={"dagster/sensor_name": "squeue"}))
    assert [run.tags.get("dagster/partition") for run in runs] == [shard_name(VICTIM)]
    assert_two_attempts(read_ledger(sweep.shard(VICTIM)).attempts)
    for number in set(range(SHARDS)) - {VICTIM}:
        assert len(read_ledger(sweep.shard(number)).attempts) == 1
