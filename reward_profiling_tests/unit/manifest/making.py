"""Small manifests and NeMo Gym look-alikes that the tests of this room write to disk."""

from collections.abc import Mapping
from pathlib import Path

import orjson

from reward_profiling.manifest.load import LoadedManifest, load_manifest

TAIL = """nickname: a
entries:
  - {label: x, agent: a, configs: [c.yaml], data: d.jsonl}
"""
"""What makes any text before it a whole manifest."""

NOTHING = {"PATH": ""}
"""An environment that says nothing, so that the machine's own does not matter."""

AGENT_CONFIG = """
exam:
  resources_servers:
    exam_server:
      entrypoint: app.py
      strictness: high
exam_agent:
  responses_api_agents:
    simple_agent:
      entrypoint: app.py
      resources_server:
        type: resources_servers
        name: exam
      model_server:
        type: responses_api_models
        name: policy_model
"""
MODEL_CONFIG = """
policy_model:
  responses_api_models:
    vllm_model:
      entrypoint: app.py
      base_url: ${policy_base_url}
      api_key: ${policy_api_key}
      model: ${policy_model_name}
"""
SWEEP = """nickname: exams
gym_env_start:
  config_paths: [model.yaml]
gym_eval_run:
  num_repeats: 4
entries:
  - label: exam
    agent: exam_agent
    configs: [agent.yaml]
    data: exam.jsonl
"""
"""A manifest that is right, beside `agent.yaml`, `model.yaml` and `exam.jsonl`."""


def load(
    folder: Path,
    text: str,
    environ: Mapping[str, str] = NOTHING,
    overrides: Mapping[str, object] | None = None,
) -> LoadedManifest:
    """Write `text` as a manifest into `folder` and load it."""
    path = folder / "m.yaml"
    path.write_text(text)
    return load_manifest(path, environ=environ, overrides=overrides)


def write_rows(path: Path, count: int = 3, agent: str = "exam_agent", **more: object) -> Path:
    """A dataset of `count` rows."""
    row = {"agent_ref": {"name": agent}, "responses_create_params": {"input": "?"}, **more}
    path.write_bytes(b"".join(orjson.dumps({**row, "id": number}) + b"\n" for number in range(count)))
    return path


def write_sweep(folder: Path, manifest: str = SWEEP) -> Path:
    """A complete sweep's files in `folder`; the path of its manifest."""
    (folder / "agent.yaml").write_text(AGENT_CONFIG)
    (folder / "model.yaml").write_text(MODEL_CONFIG)
    write_rows(folder / "exam.jsonl")
    path = folder / "m.yaml"
    path.write_text(manifest)
    return path


def fake_gym(folder: Path) -> Path:
    """An installation laid out as NeMo Gym's, with one config; the path of its `gym`."""
    packages = folder / "venv/lib/python3.12/site-packages"
    (packages / "nemo_gym").mkdir(parents=True)
    configs = packages / "resources_servers/exam_server/configs"
    configs.mkdir(parents=True)
    (configs / "exam.yaml").write_text(AGENT_CONFIG)
    models = packages / "responses_api_models/vllm_model/configs"
    models.mkdir(parents=True)
    (models / "vllm_model.yaml").write_text(MODEL_CONFIG)
    gym = folder / "venv/bin/gym"
    gym.parent.mkdir()
    gym.write_text("#!/bin/sh\nexit 3\n")
    gym.chmod(0o755)
    return gym
