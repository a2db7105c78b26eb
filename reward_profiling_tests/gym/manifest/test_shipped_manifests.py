"""Manifests written for NeMo Gym's own reward profiling load unchanged, and our examples resolve in a real NeMo Gym."""

from pathlib import Path

import pytest
import yaml

from lab.gym_env import GymInstallation, gym_installation
from reward_profiling.manifest.container_config import render as render_container_config
from reward_profiling.manifest.load import load_manifest
from reward_profiling.manifest.roots import installed_gym
from reward_profiling.manifest.validate import validate_file
from reward_profiling.manifest.yaml_tree import read
from reward_profiling_tests.parts import REPOSITORY, missing

pytestmark = pytest.mark.gym

SHIPPED = 5
EXAMPLES = sorted((REPOSITORY / "manifests/examples").glob("*.yaml"))


@pytest.fixture(scope="module")
def gym() -> GymInstallation:
    found = gym_installation()
    if found is None:
        missing("NeMo Gym", "run python -m lab.gym_env, or set REWARD_PROFILING_GYM to a gym command")
    return found


@pytest.fixture
def environ(gym: GymInstallation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    return {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "REWARD_PROFILING_GYM": str(gym.gym), "JUDGE_API_KEY": "x"}


def shipped(gym: GymInstallation) -> list[Path]:
    return sorted(gym.packages.glob("benchmarks/*/reward_profiling/manifests/*.yaml"))


def test_the_installation_is_found(gym: GymInstallation, environ: dict[str, str]) -> None:
    assert installed_gym(environ) == gym.packages


def test_shipped_manifests_load_unchanged(gym: GymInstallation, environ: dict[str, str]) -> None:
    paths = shipped(gym)
    if not paths and gym.version.startswith("0.4"):
        pytest.skip(f"NeMo Gym {gym.version} ships no reward-profiling manifests")
    assert len(paths) >= SHIPPED
    for path in paths:
        loaded = load_manifest(path, environ=environ)
        assert read(path).value == yaml.safe_load(path.read_text())
        assert all(setting.origin in {"manifest", "default"} for setting in loaded.settings)
        assert loaded.manifest.repeats(loaded.manifest.entries[0]) == 8


def test_shipped_manifests_validate_but_for_their_own_clusters_files(
    gym: GymInstallation, environ: dict[str, str]
) -> None:
    for path in shipped(gym):
        found = validate_file(path, level="no-data", environ=environ)
        strange = [problem.text for problem in found.errors if "/lustre/" not in problem.problem]
        assert strange == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_right(path: Path, environ: dict[str, str]) -> None:
    found = validate_file(path, level="no-data", environ=environ)
    assert [problem.text for problem in (*found.errors, *found.warnings)] == []


@pytest.mark.parametrize("name", ["production", "sandbox_judge"])
def test_examples_resolve(name: str, gym: GymInstallation, environ: dict[str, str]) -> None:
    if gym.version.startswith("0.4"):
        pytest.skip(f"NeMo Gym {gym.version} resolves configs by another command")
    path = REPOSITORY / f"manifests/examples/{name}.yaml"
    found = validate_file(path, level="no-data", environ=environ, resolve_with=gym.gym)
    assert [problem.text for problem in (*found.errors, *found.warnings)] == []


def test_gyms_refusal_is_passed_on(gym: GymInstallation, environ: dict[str, str], tmp_path: Path) -> None:
    if gym.version.startswith("0.4"):
        pytest.skip(f"NeMo Gym {gym.version} resolves configs by another command")
    text = (REPOSITORY / "manifests/examples/judge.yaml").read_text()
    path = tmp_path / "m.yaml"
    path.write_text(text.replace("name: grading_model", "name: nobody"))
    found = validate_file(path, level="no-data", environ=environ, resolve_with=gym.gym)
    lines = [problem.text for problem in found.errors]
    assert len(lines) == 2
    assert "asks for the responses_api_models `nobody`, which nothing defines" in lines[0]
    assert "NeMo Gym cannot resolve the configuration: " in lines[1]
    assert "nobody" in lines[1]


def test_container_config_of_the_examples_needs_nothing_set(gym: GymInstallation, environ: dict[str, str]) -> None:
    del environ["JUDGE_API_KEY"]
    loaded = [load_manifest(path, environ=environ) for path in EXAMPLES if path.stem in {"basic", "judge"}]
    config = yaml.safe_load(render_container_config(loaded))
    assert config["grading_model"]["responses_api_models"]["openai_model"]["openai_api_key"] == "placeholder"
