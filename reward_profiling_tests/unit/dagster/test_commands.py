"""Dagster's own commands on this code location, as a person types them, and the two files at the checkout's top."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import dagster as dg
import pytest
import yaml

from reward_profiling.assets.sweep import find_sweeps
from reward_profiling.resources.launching import SweepLauncher
from reward_profiling.sweep.completeness import load_plan, look
from reward_profiling_tests.parts import REPOSITORY

BIN = Path(sys.executable).parent


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A person's environment: the demo, made smaller, the local scheduler, the stand-in, a Dagster home."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(REPOSITORY / "dagster.yaml", home)
    shutil.copytree(REPOSITORY / "manifests" / "demo", tmp_path / "manifests" / "demo")
    shutil.copy(REPOSITORY / "manifests" / "demo.yaml", tmp_path / "manifests")
    return {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "REWARD_PROFILING_MANIFESTS_DIR": str(tmp_path / "manifests"),
        "REWARD_PROFILING_SWEEPS_DIR": str(tmp_path / "sweeps"),
        "REWARD_PROFILING_SCHEDULER": "local",
        "REWARD_PROFILING_GYM": "simulated",
        "NUM_SHARDS": "2",
        "LIMIT_PER_ENTRY": "2",
    }


def dagster(environment: Mapping[str, str], folder: Path, *arguments: str) -> str:
    """What a command of Dagster's printed; it must have ended well."""
    command = [str(BIN / "dagster"), *arguments]
    ended = subprocess.run(command, cwd=folder, env=dict(environment), capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def test_the_workspace_loads_with_a_broken_manifest_in_it(environment: dict[str, str]) -> None:
    (Path(environment["REWARD_PROFILING_MANIFESTS_DIR"]) / "broken.yaml").write_text("nickname: [\n")
    dagster(environment, REPOSITORY, "definitions", "validate", "-w", "workspace.yaml")


def test_a_sweep_from_manifest_to_catalog_by_two_commands(environment: dict[str, str], tmp_path: Path) -> None:
    module = ("-m", "reward_profiling.definitions")
    sweep = ("--select", 'key:"demo/*"', "--partition-range", "shard_000...shard_001")
    dagster(environment, tmp_path, "asset", "materialize", *sweep, *module)
    dagster(environment, tmp_path, "asset", "materialize", "--select", "profiles", *module)

    (found,) = find_sweeps(tmp_path / "manifests", tmp_path / "sweeps", environment).sweeps
    plan = load_plan(found.directory, {})
    assert all(look(plan, number).complete and look(plan, number).simulated for number in range(2))
    with dg.DagsterInstance.from_config(environment["DAGSTER_HOME"]) as instance:
        event = instance.get_latest_materialization_event(found.key("profiles"))
        catalog = instance.get_latest_materialization_event(dg.AssetKey(["profiles"]))
    assert event is not None and event.asset_materialization is not None
    values = {key: value.value for key, value in event.asset_materialization.metadata.items()}
    assert (values["complete"], values["simulated"]) == (True, True)
    assert (event.asset_materialization.tags or {})["dagster/input_data_version/demo/manifest"] == found.digest
    assert catalog is not None and (tmp_path / "sweeps" / "catalog.duckdb").is_file()


def test_the_instance_file_is_one_that_dagster_takes(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "dagster.yaml", tmp_path)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert instance.run_monitoring_enabled and not instance.telemetry_enabled
        # A watching run ends itself before any limit on its age ends it, or its jobs would be cancelled with it.
        assert instance.run_monitoring_max_runtime_seconds > SweepLauncher().watch_seconds


def test_the_workspace_names_the_module_that_pyproject_names() -> None:
    (origin,) = yaml.safe_load((REPOSITORY / "workspace.yaml").read_text())["load_from"]
    assert f'module_name = "{origin["python_module"]["module_name"]}"' in (REPOSITORY / "pyproject.toml").read_text()
    assert origin["python_module"]["working_directory"] == "."


@pytest.mark.parametrize(
    ("environ", "scheduler", "gym"),
    [
        ({}, "auto", None),
        ({"REWARD_PROFILING_SCHEDULER": "", "REWARD_PROFILING_GYM": ""}, "auto", None),
        ({"REWARD_PROFILING_SCHEDULER": "slurm", "REWARD_PROFILING_GYM": "/opt/gym"}, "slurm", "/opt/gym"),
    ],
)
def test_the_environment_chooses_scheduler_and_gym(environ: dict[str, str], scheduler: str, gym: str | None) -> None:
    launcher = SweepLauncher.from_environment(environ)
    assert (launcher.scheduler, launcher.gym) == (scheduler, gym)
