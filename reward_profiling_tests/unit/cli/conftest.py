"""The command, run in this process: exit code, standard output, standard error."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from reward_profiling.cli import output
from reward_profiling.cli.main import main
from reward_profiling_tests.sweeps import source_row, write_rows

CONFIG = """
policy_model:
  responses_api_models:
    vllm_model: {entrypoint: app.py, base_url: "${policy_base_url}", model: "${policy_model_name}"}
judge:
  resources_servers:
    mcqa: {entrypoint: app.py, domain: knowledge}
agent_a:
  responses_api_agents:
    simple_agent:
      entrypoint: app.py
      resources_server: {type: resources_servers, name: judge}
      model_server: {type: responses_api_models, name: policy_model}
"""


@dataclass(frozen=True)
class Outcome:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> object:
        return orjson.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `reward-profiling ARGUMENTS`."""
    for variable in (
        "REWARD_PROFILING_GYM",
        "REWARD_PROFILING_SCHEDULER",
        "MODEL",
        "NUM_SHARDS",
        "NEMO_GYM_EXTRA_ROOTS",
    ):
        monkeypatch.delenv(variable, raising=False)

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["reward-profiling", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        for console in (output.out, output.err):
            console.file.flush()
        captured = capsys.readouterr()
        return Outcome(int(end.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A manifest of two environments that share an agent, with its datasets and config beside it."""
    (tmp_path / "gym.yaml").write_text(CONFIG)
    for label in ("alpha", "beta"):
        write_rows(tmp_path / f"{label}.jsonl", [source_row(label, number) for number in range(3)])
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "nickname: tiny\nnum_shards: 2\n"
        "gym_env_start:\n  policy_base_url: http://127.0.0.1:9/v1\n  policy_model_name: some-model\n"
        "gym_eval_run: {num_repeats: 2, num_samples_in_parallel: 4}\n"
        "entries:\n"
        "  - {label: alpha, agent: agent_a, configs: [gym.yaml], data: alpha.jsonl}\n"
        "  - {label: beta, agent: agent_a, configs: [gym.yaml], data: beta.jsonl}\n"
    )
    return path
