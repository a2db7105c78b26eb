"""The stand-in with the demo's servers, started once for the session's tests."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reward_profiling.simulate.main import main
from reward_profiling_tests.collector import DEMO_CONFIGS, NO_POLICY, STAND_IN, Collector, running
from reward_profiling_tests.collector_contract import Failing


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with running(STAND_IN, DEMO_CONFIGS, tmp_path_factory.mktemp("stand_in"), *NO_POLICY) as started:
        yield started


@pytest.fixture
def collect(collector: Collector) -> Callable[..., int]:
    """Runs `eval run` in this process, where no process has to be killed; returns its exit code."""

    def in_this_process(output: Path, *arguments: str, routed: bool = True) -> int:
        return main(collector.command(output, *arguments, routed=routed)[len(collector.argv) :])

    return in_this_process


@pytest.fixture
def failing() -> Failing:
    @contextlib.contextmanager
    def every_rollout() -> Iterator[tuple[str, ...]]:
        yield ('++simulate.failures={"agent_run_error": 1}',)

    return every_rollout
