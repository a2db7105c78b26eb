"""The rendered job script: golden text, checked by bash and shellcheck, and every value passed on exactly.

To accept a change of the templates, copy the file that a failing golden test names over the golden one.
"""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from reward_profiling.errors import LaunchError
from reward_profiling.launch.gym_command import GymCommand
from reward_profiling.launch.patience import Patience
from reward_profiling.launch.policy_settings import Endpoint, Engine
from reward_profiling.launch.script import job_log, render_job
from reward_profiling.launch.settings import JobSettings
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling_tests.parts import require
from reward_profiling_tests.scripts import Stubs, arguments_of

GOLDEN = Path(__file__).parent / "golden"
SWEEP = SweepDir(Path("/data/sweeps/blend"))

ENDPOINT = JobSettings(
    gym=GymCommand(("/opt/gym/bin/gym",)),
    policy=Endpoint("https://policy.example.org/v1"),
    model="org/model-7b",
    concurrency=512,
    options={"nodes": "1", "ntasks-per-node": "1", "time": "04:00:00", "exclusive": None, "signal": "B:USR1@300"},
    server_overrides=('++policy_model_name="org/model-7b"', '++policy_base_url="https://policy.example.org/v1"'),
    model_params=(),
    collector_overrides=(
        "++disable_aggregation=true",
        "++route_failures_to_sidecar=true",
        "++retain_results_in_memory=false",
    ),
    secrets=("JUDGE_API_KEY", "POLICY_API_KEY"),
    policy_key="POLICY_API_KEY",
    search_path="/home/someone/manifests:/home/someone/gym",
    patience=Patience(),
)
SERVE = replace(
    ENDPOINT,
    policy=Engine(256, ("--tensor-parallel-size", "8"), {"VLLM_USE_V1": "1"}, {"HF_TOKEN": "HF_TOKEN"}),
    server_overrides=('++policy_model_name="org/model-7b"', '++policy_api_key="unused"'),
    model_params=("++policy_model.responses_api_models.vllm_model.temperature=1.0",),
    secrets=("HF_TOKEN",),
    policy_key=None,
)
CONFIGURED = replace(SERVE, policy=Engine(256), model_params=(), engine_config=Path("/home/someone/model.sh"))
SIMULATED = replace(
    ENDPOINT,
    gym=GymCommand(("/opt/rp/bin/python", "-P", "-m", "reward_profiling.simulate"), simulated=True),
    policy=None,
    secrets=(),
    policy_key=None,
)
CASES = {"endpoint": ENDPOINT, "serve": SERVE, "serve_configured": CONFIGURED, "simulated": SIMULATED}


def _render(settings: JobSettings) -> str:
    return render_job(SWEEP.shard(3), SWEEP, 2, settings, python="/opt/rp/bin/python")


@pytest.mark.parametrize("name", CASES)
def test_the_script_is_the_golden_one(name: str, tmp_path: Path) -> None:
    golden, actual = GOLDEN / f"job_{name}.sh", tmp_path / f"job_{name}.sh"
    actual.write_text(_render(CASES[name]))
    assert golden.exists() and actual.read_text() == golden.read_text(), f"cp {actual} {golden}"


@pytest.mark.parametrize("name", CASES)
def test_bash_and_shellcheck_have_nothing_to_say(name: str, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(_render(CASES[name]))
    subprocess.run(["bash", "-n", str(script)], check=True)
    shellcheck = require("shellcheck", "install the package shellcheck")
    found = subprocess.run([str(shellcheck), str(script)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_secrets_and_their_values_never_stand_in_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY_API_KEY", "s3cr3t-value")
    assert "s3cr3t-value" not in _render(ENDPOINT)


def test_what_is_no_shard_is_refused() -> None:
    with pytest.raises(LaunchError, match="is no shard"):
        render_job(ShardDir(Path("/data/sweeps/blend/shards/other")), SWEEP, 1, ENDPOINT)


def test_a_path_that_gym_would_resolve_is_refused() -> None:
    sweep = SweepDir(Path("/data/${oc.env:HOME}/blend"))
    with pytest.raises(LaunchError, match="move the sweep"):
        render_job(sweep.shard(0), sweep, 1, ENDPOINT)


def test_the_log_lies_with_the_attempt() -> None:
    assert job_log(SWEEP.shard(3), 2) == Path("/data/sweeps/blend/shards/shard_003/logs/attempt_002/job.log")
    assert f"--output={job_log(SWEEP.shard(3), 2)}" in _render(ENDPOINT)


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    return Stubs(tmp_path / "stubs")


def test_each_part_becomes_one_command_in_a_folder_of_its_own(stubs: Stubs, tmp_path: Path) -> None:
    sweep = SweepDir(tmp_path / "a b=ü'\"" / "blend")
    settings = replace(SERVE, gym=GymCommand((str(stubs.program("gym")), "-x")), search_path="")
    servers = stubs.run(sweep, settings, "gym-servers", RP_HEAD_PORT="21000", RP_POLICY_URL="http://127.0.0.1:1/v1")
    quoted = str(tmp_path / "a b=ü'\\\"" / "blend")
    assert servers.arguments == [
        *("-x", "env", "start", "--config", f'"{quoted}/sweep_config.yaml"'),
        *('++policy_model_name="org/model-7b"', '++policy_api_key="unused"'),
        "++policy_base_url=http://127.0.0.1:1/v1",
        *("++head_server.host=127.0.0.1", "++head_server.port=21000", "++server_spinup_timeout_seconds=3600"),
        "++policy_model.responses_api_models.vllm_model.temperature=1.0",
        *("hydra.run.dir=.", "hydra.output_subdir=null"),
    ]
    assert servers.folder == sweep.shard(0).attempt_logs(1) / "gym-servers.work"
    collector = stubs.run(sweep, settings, "collector", RP_HEAD_PORT="21000")
    assert (
        arguments_of(collector.arguments, "--input")
        == f'"{quoted}/shards/shard_000/rollouts_materialized_inputs.jsonl"'
    )
    assert arguments_of(collector.arguments, "--output") == f'"{quoted}/shards/shard_000/rollouts.jsonl"'
    assert collector.folder == sweep.shard(0).attempt_logs(1) / "collector.work"


def test_the_submitting_shell_does_not_leak_in(stubs: Stubs, tmp_path: Path) -> None:
    sweep = SweepDir(tmp_path / "blend")
    settings = replace(ENDPOINT, gym=GymCommand((str(stubs.program("gym")),)))
    leaking = {"PYTHONPATH": "/x", "PYTHONHOME": "/x", "VIRTUAL_ENV": "/x", "CONDA_PREFIX": "/x"}
    seen = stubs.run(sweep, settings, "collector", RP_HEAD_PORT="1", **leaking).environment
    assert not leaking.keys() & seen.keys()
    assert seen["NEMO_GYM_EXTRA_ROOTS"] == "/home/someone/manifests:/home/someone/gym"


def test_the_engine_gets_its_variables_and_a_config_file_its_say(stubs: Stubs, tmp_path: Path) -> None:
    sweep = SweepDir(tmp_path / "blend")
    stubs.program("vllm")
    engine = stubs.run(sweep, SERVE, "policy", RP_POLICY_PORT="8000", HF_TOKEN="a b$c")
    assert engine.arguments == [
        *("serve", "org/model-7b", "--host", "127.0.0.1", "--port", "8000", "--max-num-seqs", "256"),
        *("--tensor-parallel-size", "8"),
    ]
    assert (engine.environment["VLLM_USE_V1"], engine.environment["HF_TOKEN"]) == ("1", "a b$c")
    config = tmp_path / "model.sh"
    config.write_text(
        'false; set -- surprise; LOGS=/nowhere; MODULE="$UNSET"\n'
        "VLLM_COMMON_ARGS=(--dtype 'b f')\nGYM_MODEL_PARAMS=(++a.temperature=0.5)\n"
    )
    settings = replace(CONFIGURED, engine_config=config, gym=GymCommand((str(stubs.program("gym")),)))
    assert stubs.run(sweep, settings, "policy", RP_POLICY_PORT="8000").arguments[-2:] == ["--dtype", "b f"]
    servers = stubs.run(sweep, settings, "gym-servers", RP_HEAD_PORT="1", RP_POLICY_URL="http://u/v1")
    assert "++a.temperature=0.5" in servers.arguments
    config.unlink()
    failed = stubs.try_run(sweep, settings, "policy", RP_POLICY_PORT="8000")
    assert failed.returncode == 1 and "vllm.config is not readable here" in failed.stderr


def test_a_missing_interpreter_and_an_unknown_part_are_named(stubs: Stubs, tmp_path: Path) -> None:
    sweep = SweepDir(tmp_path / "blend")
    gone = stubs.try_run(sweep, ENDPOINT, "job", python="/nowhere/python")
    assert gone.returncode == 1 and "there is no /nowhere/python on" in gone.stderr
    assert "no part is called engine" in stubs.try_run(sweep, ENDPOINT, "engine").stderr
    assert os.environ.get("RP_HEAD_PORT") is None
    assert "is the port of the head server" in stubs.try_run(sweep, ENDPOINT, "collector").stderr
