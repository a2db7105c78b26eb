"""NeMo Gym's own environments, collected in one deployment and profiled: our numbers are its numbers.

Four shipped environments, one of them as two datasets under one agent, so that a profile by agent would mix them.
"""

import os
import subprocess
import sys
from pathlib import Path

import orjson
import polars as pl
import pytest
import yaml

from lab.gym_env import GymInstallation
from lab.policy_server import PolicyServer
from reward_profiling.launch.ledger import read_ledger
from reward_profiling.sweep.layout import SweepDir
from reward_profiling_tests.parts import REPOSITORY
from reward_profiling_tests.unit.profile.compare import assert_same_outputs

pytestmark = [pytest.mark.gym, pytest.mark.timeout(600)]

REPEATS = 8
SERVERS = "resources_servers"
# Label, agent, config, dataset: as they lie in the package.
ENVIRONMENTS = (
    ("knowledge", "mcqa_simple_agent", "mcqa/configs/mcqa.yaml", "mcqa/data/example.jsonl"),
    ("templated", "mcqa_simple_agent", "mcqa/configs/mcqa.yaml", "mcqa/data/example_with_template_metadata.jsonl"),
    (
        "equivalence",
        "lc_equivalence_rule_simple_agent",
        "equivalence_rule/configs/lc.yaml",
        "equivalence_rule/data/example.jsonl",
    ),
    ("calendar", "calendar_simple_agent", "calendar/configs/calendar.yaml", "calendar/data/example.jsonl"),
    (
        "structured",
        "structured_outputs_v4_simple_agent",
        "structured_outputs/configs/structured_outputs_v4.yaml",
        "structured_outputs/data/example.jsonl",
    ),
)


def _manifest(folder: Path, gym: GymInstallation) -> Path:
    entries = [
        {
            "label": label,
            "agent": agent,
            "agent_ref_override": agent,  # some example rows carry none
            "configs": [f"{SERVERS}/{config}"],
            "data": str(gym.packages / SERVERS / data),
        }
        for label, agent, config, data in ENVIRONMENTS
    ]
    values = {
        "nickname": "shipped",
        "gym_env_start": {"config_paths": ["responses_api_models/vllm_model/configs/vllm_model.yaml"]},
        "gym_eval_run": {"num_repeats": REPEATS, "num_samples_in_parallel": 16},
        "entries": entries,
    }
    path = folder / "shipped.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path


def _command(environ: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("reward-profiling")), *map(str, arguments)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, cwd=REPOSITORY)


@pytest.fixture(scope="module")
def environ(gym: GymInstallation, gym_server_venvs: Path) -> dict[str, str]:
    return {
        **os.environ,
        "REWARD_PROFILING_GYM": str(gym.gym),
        "GYM_ENV_START_UV_VENV_DIR": str(gym_server_venvs),
        "GYM_ENV_START_SKIP_VENV_IF_PRESENT": "true",
        "RAY_AUTH_MODE": "disabled",
    }


@pytest.fixture(scope="module")
def sweep(
    gym: GymInstallation, policy: PolicyServer, environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> SweepDir:
    """The sweep, collected to its end by one job."""
    folder = tmp_path_factory.mktemp("shipped")
    manifest = _manifest(folder, gym)
    served = ("--scheduler", "local", "--endpoint", policy.url, "--model", policy.model)
    for arguments in (
        ("validate", manifest),
        ("materialize", manifest, "--sweeps-dir", folder),
        ("run", folder / "shipped", *served),
        ("profile", folder / "shipped"),
    ):
        done = _command(environ, *arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return SweepDir(folder / "shipped")


def _gym_profile(sweep: SweepDir, gym: GymInstallation, folder: Path) -> list[dict]:
    """What `gym eval profile` writes of the same files, one row per task."""
    rollouts = folder / "rollouts.jsonl"
    rollouts.write_bytes(sweep.shard(0).rollouts.read_bytes())
    command = [str(gym.gym), "eval", "profile", "--inputs", str(sweep.shard(0).work_list), "--rollouts", str(rollouts)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    written = folder / "rollouts_reward_profiling.jsonl"
    return [orjson.loads(line) for line in written.read_bytes().splitlines()]


def test_every_rollout_came_in_by_one_job(sweep: SweepDir) -> None:
    rows = [orjson.loads(line) for line in sweep.shard(0).rollouts.read_bytes().splitlines()]
    keys = [(row["_ng_task_index"], row["_ng_rollout_index"]) for row in rows]
    tasks = 5 * len(ENVIRONMENTS)
    assert sorted(keys) == [(task, repeat) for task in range(tasks) for repeat in range(REPEATS)]
    assert [attempt.state for attempt in read_ledger(sweep.shard(0)).attempts] == ["COMPLETED"]
    summary = pl.read_parquet(sweep.profiles / "summary.parquet")
    assert summary["complete"].all()
    assert not summary["simulated"].any()


def test_rewards_differ_within_tasks(sweep: SweepDir) -> None:
    summary = pl.read_parquet(sweep.profiles / "summary.parquet")
    assert summary.filter(pl.col("tasks_mixed") > 0).height >= 2
    assert summary["tasks_mixed"].sum() >= 5


def test_our_profile_is_gyms(sweep: SweepDir, gym: GymInstallation, tmp_path: Path) -> None:
    expected = {row["_ng_task_index"]: row for row in _gym_profile(sweep, gym, tmp_path)}
    compared = 0
    for label, *_ in ENVIRONMENTS:
        table = pl.read_parquet(sweep.profiles / f"{label}.parquet")
        for row in table.iter_rows(named=True):
            theirs = expected.pop(row["_ng_task_index"])
            for name, value in theirs.items():
                if "/" in name or name.endswith(("num_rollouts", "completion_pct")):
                    assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-12), (label, name)
                    compared += 1
    assert expected == {}
    assert compared > 25 * 20


def test_environments_that_share_an_agent_are_not_mixed(sweep: SweepDir) -> None:
    for label, *_ in ENVIRONMENTS[:2]:
        table = pl.read_parquet(sweep.profiles / f"{label}.parquet")
        assert table.height == 5
        assert set(table["num_rollouts"]) == {REPEATS}
    summary = {row["label"]: row for row in pl.read_parquet(sweep.profiles / "summary.parquet").iter_rows(named=True)}
    assert summary["knowledge"]["expected"] == summary["templated"]["expected"] == 5 * REPEATS


def test_the_drop_in_writes_gyms_files(sweep: SweepDir, gym: GymInstallation, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    _gym_profile(sweep, gym, tmp_path / "theirs")
    copied = tmp_path / "ours" / "rollouts.jsonl"
    copied.write_bytes(sweep.shard(0).rollouts.read_bytes())
    done = _command(dict(os.environ), "profile", "--inputs", sweep.shard(0).work_list, "--rollouts", copied)
    assert done.returncode == 0, done.stderr
    assert_same_outputs(copied, tmp_path / "theirs" / "rollouts.jsonl")
