"""NeMo Gym keeps the contract that the stand-in is held to, and the stand-in writes what NeMo Gym writes."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lab.gym_env import GymInstallation
from reward_profiling.simulate.main import MIRRORED_VERSION
from reward_profiling_tests.collector import DEMO_CONFIGS, NO_POLICY, STAND_IN, Collector, read_rows, running
from reward_profiling_tests.collector_contract import VERIFIER_KEYS, CollectorContract, Resumed, interrupted_shard

pytestmark = pytest.mark.gym
_SAME = ("_ng_task_index", "_ng_rollout_index", "agent_ref", "_ng_environment_server", "_ng_result_type")


class TestGym(CollectorContract):
    """Every test of the contract, against the real Gym."""

    def test_the_stand_in_finishes_an_interrupted_shard_alike(
        self, resumed: Resumed, collector: Collector, tmp_path: Path
    ) -> None:
        """The same keys, in rows of the same shape, with the same stamps."""
        output = tmp_path / "rollouts.jsonl"
        interrupted_shard(output)
        with running(STAND_IN, DEMO_CONFIGS, tmp_path / "env", *NO_POLICY) as stand_in:
            assert stand_in.collect(output).returncode == 0
        ours = sorted(read_rows(output)[1:], key=_key)
        for our_row, their_row in zip(ours, sorted(resumed.collected, key=_key), strict=True):
            assert _shape(our_row) == _shape(their_row)
            assert our_row["response"].keys() <= their_row["response"].keys()
            assert our_row["response"]["usage"].keys() == their_row["response"]["usage"].keys()
            assert [our_row[key] for key in _SAME] == [their_row[key] for key in _SAME]


def test_the_job_asks_both_for_their_options_in_the_same_way(gym: GymInstallation, collector: Collector) -> None:
    """`eval run --help` names the flags that a job uses, `--version --json` the release."""
    for argv, version in ((collector.argv, gym.version), (STAND_IN, MIRRORED_VERSION)):
        assert json.loads(_output(argv, "--version", "--json"))["nemo_gym"] == version
        usage = _output(argv, "eval", "run", "--help")
        assert all(flag in usage for flag in ("--no-serve", "--resume", "--concurrency", "--disable-aggregation"))


def _output(argv: tuple[str, ...], *arguments: str) -> str:
    return subprocess.run([*argv, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def _shape(row: Mapping[str, Any]) -> list[str]:
    """The keys that every environment's rows have, in their order."""
    return [key for key in row if key not in VERIFIER_KEYS]


def _key(row: Mapping[str, Any]) -> tuple[int, int]:
    return row["_ng_task_index"], row["_ng_rollout_index"]
