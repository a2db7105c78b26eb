"""The real NeMo Gym and the lab's policy for the tests of this lane."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.gym_env import GymInstallation, gym_installation, link_servers
from lab.policy_server import PolicyServer
from reward_profiling_tests.parts import missing


@pytest.fixture(scope="session")
def gym() -> GymInstallation:
    """The installed Gym; its servers start without installing anything (`gym_server_options`)."""
    found = gym_installation()
    if found is None:
        missing("NeMo Gym", "run `python -m lab.gym_env`, or set REWARD_PROFILING_GYM to a `gym` executable")
    return found


@pytest.fixture(scope="session")
def gym_server_venvs(gym: GymInstallation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `uv_venv_dir` in which the light servers' venvs lie."""
    return gym.uv_venv_dir or link_servers(gym.venv, tmp_path_factory.mktemp("server_venvs"))


@pytest.fixture(scope="session")
def policy() -> Iterator[PolicyServer]:
    """A policy for the whole session: a test that changes its mode sets it back to `ok`."""
    with PolicyServer(seed=7) as server:
        yield server


@pytest.fixture(scope="session")
def gym_server_options(gym_server_venvs: Path, policy: PolicyServer) -> tuple[str, ...]:
    """What `gym env start` is given beside its configs: the policy, and the venvs to use as they are."""
    return (
        *(f"++uv_venv_dir={gym_server_venvs}", "++skip_venv_if_present=true"),
        *("--model-url", policy.url, "--model", policy.model, "--model-api-key", "unset"),
    )
