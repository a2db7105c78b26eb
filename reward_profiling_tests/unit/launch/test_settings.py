"""From a manifest to the settings of its jobs: what is passed on, what is refused, and that no secret gets in."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from reward_profiling.errors import LaunchError
from reward_profiling.launch.gym_command import GymCommand
from reward_profiling.launch.policy_settings import Endpoint, Engine
from reward_profiling.launch.settings import JobSettings
from reward_profiling.manifest.load import load_manifest

GYM = GymCommand(("/opt/gym",))
SIMULATED = GymCommand(("python",), simulated=True)
ENDPOINT = "gym_env_start: {policy_base_url: http://p/v1, policy_model_name: m"


def _settings(
    folder: Path,
    text: str,
    environ: Mapping[str, str] | None = None,
    gym: GymCommand = GYM,
    config: str = "{}",
    **overrides: Any,
) -> JobSettings:
    (folder / "config.yaml").write_text(config)
    (folder / "data.jsonl").write_text("")
    manifest = folder / "manifest.yaml"
    entry = "entries: [{label: a, agent: agent_a, configs: [config.yaml], data: data.jsonl}]"
    manifest.write_text(f"nickname: n\n{entry}\n{text}\n")
    values = {name.replace("__", "."): value for name, value in overrides.items()}
    loaded = load_manifest(manifest, environ=environ or {}, overrides=values)
    return JobSettings.from_manifest(loaded, gym=gym, environ=environ or {})


def test_an_endpoint(tmp_path: Path) -> None:
    settings = _settings(tmp_path, ENDPOINT + ", policy_api_key: '${oc.env:KEY}'}")
    assert settings.policy == Endpoint("http://p/v1")
    assert settings.server_overrides == ('++policy_model_name="m"', '++policy_base_url="http://p/v1"')
    assert (settings.policy_key, settings.secrets) == ("KEY", ("KEY",))
    settings.refuse_unset({"KEY": ""})
    with pytest.raises(LaunchError, match="not set in the environment: KEY; export"):
        settings.refuse_unset({})


def test_gym_is_given_a_key_where_nobody_names_one(tmp_path: Path) -> None:
    assert '++policy_api_key="unused"' in _settings(tmp_path, ENDPOINT + "}").server_overrides
    configured = _settings(tmp_path, ENDPOINT + "}", config="policy_api_key: EMPTY")
    assert not any("policy_api_key" in override for override in configured.server_overrides)


def test_an_endpoint_named_by_a_variable(tmp_path: Path) -> None:
    text = "gym_env_start: {policy_base_url: '${oc.env:URL,http://d/v1}', policy_model_name: m}"
    assert _settings(tmp_path, text, {"URL": "http://u/v1/"}).policy == Endpoint("http://u/v1")
    assert _settings(tmp_path, text).policy == Endpoint("http://d/v1")
    with pytest.raises(LaunchError, match="URL is not set to a URL"):
        _settings(tmp_path, text.replace(",http://d/v1", ""))


def test_what_was_set_after_the_sweep_was_written_reaches_the_servers(tmp_path: Path) -> None:
    environ = {"GYM_ENV_START_UV_VENV_DIR": "/venvs", "GYM_ENV_START_SKIP_VENV_IF_PRESENT": "true"}
    settings = _settings(tmp_path, ENDPOINT + ", judge: {a: 1}}", environ)
    assert {'++uv_venv_dir="/venvs"', "++skip_venv_if_present=true"} <= set(settings.server_overrides)
    assert not any("judge" in override for override in settings.server_overrides)
    with pytest.raises(LaunchError, match="config_paths comes from env GYM_ENV_START_CONFIG_PATHS"):
        _settings(tmp_path, ENDPOINT + "}", {"GYM_ENV_START_CONFIG_PATHS": "[other.yaml]"})


def test_an_engine(tmp_path: Path) -> None:
    text = (
        "vllm: {model: org/m, common_args: [--dtype, half], max_num_seqs: 64, gym_model_params: [++t=1],"
        " env: {A: 1, B: true, C: 'x y', HF_TOKEN: '${oc.env:MY_TOKEN}'}}"
    )
    settings = _settings(tmp_path, text)
    literal = {"A": "1", "B": "1", "C": "x y"}
    assert settings.policy == Engine(64, ("--dtype", "half"), literal, {"HF_TOKEN": "MY_TOKEN"})
    assert (settings.model, settings.concurrency, settings.model_params) == ("org/m", 64, ("++t=1",))
    assert settings.secrets == ("MY_TOKEN",)
    assert not any("policy_base_url" in override for override in settings.server_overrides)


def test_a_config_file_is_found_where_the_manifest_lies(tmp_path: Path) -> None:
    (tmp_path / "model.sh").write_text("VLLM_COMMON_ARGS=()\n")
    assert _settings(tmp_path, "vllm: {model: m, config: model.sh}").engine_config == tmp_path / "model.sh"
    with pytest.raises(LaunchError, match=r"manifest\.yaml:3:\d+: gone\.sh is not found"):
        _settings(tmp_path, "vllm: {model: m, config: gone.sh}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the manifest names no policy"),
        ("vllm: {model: m, prefill_nodes: 1, decode_nodes: 2}", "topology pd is not supported yet"),
        ("vllm: {model: m, nodes: 2}", "engines on several nodes are not supported yet"),
        ("vllm: {model: m}\nsrun: {container: image.sqsh}", "containers are not supported yet"),
        (ENDPOINT + "}\nsrun: {sandbox_container: image, container_runtime: none}", "sandboxes are not supported yet"),
        ("vllm: {model: m, common_args: ['${oc.env:KEY}']}", "would show its value to everybody"),
        ("vllm: {model: m, env: {A: 'x${oc.env:KEY}'}}", "cannot be resolved in a job"),
        ("vllm: {model: m, env: {'A B': x}}", "cannot be a variable"),
    ],
)
def test_what_cannot_be_served_as_asked_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(LaunchError, match=problem) as caught:
        _settings(tmp_path, text)
    assert str(tmp_path / "manifest.yaml") in str(caught.value)


def test_the_stand_in_needs_no_policy(tmp_path: Path) -> None:
    text = "vllm: {model: m, prefill_nodes: 1, decode_nodes: 2}\nsrun: {container: image.sqsh}"
    settings = _settings(tmp_path, text, gym=SIMULATED)
    assert settings.policy is None and settings.concurrency == 1024
    assert '++policy_base_url="unused"' in settings.server_overrides


def test_the_collector_gets_the_manifests_keys_over_ours(tmp_path: Path) -> None:
    text = "gym_eval_run: {num_samples_in_parallel: 7, retain_results_in_memory: true, drain_margin_s: 30.5}"
    settings = _settings(tmp_path, f"{ENDPOINT}}}\n{text}")
    assert settings.concurrency == 7
    assert settings.collector_overrides == (
        "++disable_aggregation=true",
        "++route_failures_to_sidecar=true",
        "++retain_results_in_memory=true",
        "++drain_margin_s=30.5",
    )


def test_scheduler_options(tmp_path: Path) -> None:
    sbatch = "sbatch: {account: a, mem_per_cpu: 2, timelimit: '01:00:00', exclusive: true, contiguous: false}"
    assert _settings(tmp_path, f"{ENDPOINT}}}\n{sbatch}").options == {
        "nodes": "1",
        "ntasks-per-node": "1",
        "account": "a",
        "mem-per-cpu": "2",
        "time": "01:00:00",
        "exclusive": None,
        "signal": "B:USR1@300",
    }


@pytest.mark.parametrize(
    ("sbatch", "signal"),
    [
        ("", "B:USR1@300"),
        ("sbatch: {timelimit: 1}", "B:USR1@30"),
        ("sbatch: {timelimit: 12}", "B:USR1@60"),
        ("sbatch: {timelimit: 1-00}", "B:USR1@300"),
        ("sbatch: {timelimit: 30, signal: 'B:TERM@90'}", "B:TERM@90"),
    ],
)
def test_the_signal_before_the_walltime_leaves_a_short_job_its_time(tmp_path: Path, sbatch: str, signal: str) -> None:
    assert _settings(tmp_path, f"{ENDPOINT}}}\n{sbatch}").options["signal"] == signal


def test_no_secret_gets_into_the_settings(tmp_path: Path) -> None:
    environ = {"GYM_ENV_START_POLICY_API_KEY": "s3cr3t", "OTHER_KEY": "s3cr3t"}
    text = ENDPOINT + ", judge_api_key: '${oc.env:OTHER_KEY}'}"
    settings = _settings(tmp_path, text, environ)
    assert "s3cr3t" not in str(asdict(settings))
    assert settings.policy_key == "GYM_ENV_START_POLICY_API_KEY"
    assert '++policy_api_key="${oc.env:GYM_ENV_START_POLICY_API_KEY}"' in settings.server_overrides
    assert settings.secrets == ("GYM_ENV_START_POLICY_API_KEY", "OTHER_KEY")
