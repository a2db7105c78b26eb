"""Every command of the documents does what they say, in a clean clone. A new block must find its place here."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from lab.gym_env import gym_installation
from lab.slurm_cluster import SlurmCluster
from reward_profiling_tests.newcomer.conftest import Clone, blocks
from reward_profiling_tests.parts import REPOSITORY, missing, require

pytestmark = pytest.mark.timeout(900)

EXPECTED = {"README.md": 4, "CONTRIBUTING.md": 2, "docs/sweeps.md": 2, "docs/jobs.md": 1, "docs/dagster.md": 1}


def _documents() -> list[str]:
    return [
        "README.md",
        "CONTRIBUTING.md",
        *(f"docs/{path.name}" for path in sorted((REPOSITORY / "docs").glob("*.md"))),
    ]


@pytest.fixture(scope="session")
def demo(clone: Clone) -> list[str]:
    """What `make demo` printed the first and the second time."""
    command = blocks("README.md")[0].splitlines()[0]
    assert command == "make demo"
    first = clone.shell(command)
    stamp = (clone.path / ".venv" / ".installed").stat().st_mtime_ns
    second = clone.shell(command)
    assert (clone.path / ".venv" / ".installed").stat().st_mtime_ns == stamp
    return [first, second]


def test_every_block_is_run_here() -> None:
    assert {name: len(blocks(name)) for name in _documents() if blocks(name)} == EXPECTED


def test_the_demo_ends_with_rewards_and_what_to_do_next(demo: list[str]) -> None:
    for printed in demo:
        assert "demo (simulated)" in printed
        for label in ("geography", "arithmetic", "scheduling"):
            assert re.search(rf"^{label} +\d+ +\d+ +\d\.\d{{3}} ", printed, flags=re.MULTILINE)
        assert "sweeps/demo/profiles" in printed
        assert "make ui GYM=simulated" in printed


def test_ci_runs_what_the_readme_says() -> None:
    assert blocks("README.md")[0].splitlines()[1] == "make test"
    assert re.search(r"^make test$", (REPOSITORY / ".ci" / "run").read_text(), flags=re.MULTILINE)


@pytest.mark.gym
def test_the_demo_with_the_real_gym(clone: Clone, demo: list[str]) -> None:
    gym = gym_installation()
    if gym is None:
        missing("NeMo Gym", "run `make gym`")
    (command,) = blocks("README.md")[1].splitlines()
    printed = clone.shell(command, GYM_VENV=str(gym.venv), REWARD_PROFILING_GYM=str(gym.gym))
    assert re.search(r"^demo$", printed.replace(" " * 3, "\n"), flags=re.MULTILINE)
    assert "simulated" not in printed
    assert "sweeps-gym/demo/profiles" in printed


@pytest.mark.slurm
def test_a_cluster_of_ones_own(clone: Clone, demo: list[str], tmp_path: Path) -> None:
    require("slurmctld", "install slurmctld, slurmd, slurm-client and munge")
    commands, dagster = blocks("README.md")[2:4]
    manifest = (clone.path / "manifests" / "demo.yaml").read_text()
    prepared = clone.path / "manifests" / "examples" / "prepared.yaml"
    prepared.write_text(manifest.replace("nickname: demo", "nickname: mine").replace("demo/", "../demo/"))
    script = commands.replace("examples/basic.yaml", "examples/prepared.yaml").replace(
        "/shared/gym/bin/gym", "simulated"
    )
    # The copy lies one folder higher than the example.
    script = script.replace(
        "manifests/mine.yaml\n", "manifests/mine.yaml; sed -i 's#../demo/#demo/#' manifests/mine.yaml\n", 1
    )
    with SlurmCluster.raise_(tmp_path / "slurm", nodes=2) as cluster:
        printed = clone.shell(script, **cluster.environment)
        assert "mine (simulated): complete" in printed
        assert "#SBATCH --job-name=rp.mine.shard_000." in printed
        home = str(clone.path / ".dagster")
        environ = {**cluster.environment, "REWARD_PROFILING_GYM": "simulated", "DAGSTER_HOME": home}
        clone.shell(dagster, **environ)
    assert (clone.path / "sweeps" / "mine" / "profiles" / "summary.parquet").exists()
    assert (clone.path / "sweeps" / "catalog.duckdb").exists()


@pytest.mark.parametrize("document", ["docs/sweeps.md", "docs/jobs.md", "CONTRIBUTING.md"])
def test_the_commands_of(clone: Clone, demo: list[str], document: str) -> None:
    for block in blocks(document):
        clone.shell(block, REWARD_PROFILING_GYM="simulated")


def test_the_ui_starts(clone: Clone, demo: list[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = blocks("docs/dagster.md")[0].strip().replace("PORT=3000", f"PORT={port}")
    with (clone.path / "ui.log").open("wb") as log:
        process = subprocess.Popen(
            command.split(), cwd=clone.path, env=clone.environ(), stdout=log, stderr=log, start_new_session=True
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/server_info", process)
        finally:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                assert answer.status == 200
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"{url} did not answer")
