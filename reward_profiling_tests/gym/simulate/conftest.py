"""One deployment of the demo's geography servers under the real Gym, for all tests of this folder."""

import contextlib
from collections.abc import Iterator

import pytest

from lab.gym_env import GymInstallation
from lab.policy_server import PolicyServer
from reward_profiling_tests.collector import DEMO, Collector, running
from reward_profiling_tests.collector_contract import Failing
from reward_profiling_tests.parts import missing

CONFIGS = (DEMO / "configs" / "policy_model.yaml", DEMO / "configs" / "geography.yaml")


@pytest.fixture(scope="session")
def collector(
    gym: GymInstallation, gym_server_options: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Collector]:
    if gym.version.startswith(("0.4", "0.5", "0.6")):
        missing(f"NeMo Gym 0.7 or later (there is {gym.version})", "install Python 3.13, run `python -m lab.gym_env`")
    directory = tmp_path_factory.mktemp("gym")
    with running((str(gym.gym),), CONFIGS, directory, *gym_server_options) as started:
        yield started


@pytest.fixture
def failing(policy: PolicyServer) -> Failing:
    @contextlib.contextmanager
    def every_rollout() -> Iterator[tuple[str, ...]]:
        policy.set_mode("fail", status=400)
        try:
            yield ()
        finally:
            policy.set_mode("ok")

    return every_rollout
