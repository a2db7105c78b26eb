"""What changes the meaning of a rollout, and what only changes where and how fast it is made."""

from pathlib import Path

import pytest

from reward_profiling.manifest.load import load_manifest
from reward_profiling.manifest.meaning import changed, meaning

CONFIG = "a_server:\n  resources_servers:\n    mcqa: {entrypoint: app.py, strict: true}\n"
MANIFEST = """
nickname: x
num_shards: 2
sbatch: {timelimit: "01:00:00"}
gym_env_start: {config_paths: [a.yaml], policy_base_url: http://a/v1, policy_model_name: m, port_range_low: 2000}
gym_eval_run: {num_samples_in_parallel: 4}
entries: [{label: l, agent: a, configs: [a.yaml], data: d.jsonl}]
"""


def _meaning(folder: Path, manifest: str, config: str) -> dict[str, str]:
    (folder / "m.yaml").write_text(manifest)
    (folder / "a.yaml").write_text(config)
    loaded = load_manifest(folder / "m.yaml", environ={})
    return meaning(loaded.manifest, loaded.roots)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("policy_model_name: m", "policy_model_name: n", ["model"]),
        ("agent: a", "agent: a, agent_ref_override: b", ["agent.l"]),
        ("port_range_low: 2000", "a_server: {resources_servers: {mcqa: {strict: false}}}", ["server.a_server"]),
        ("strict: true", "strict: false", ["server.a_server"]),
        ("num_shards: 2", "vllm: {gym_model_params: ['++temperature=0.5']}", ["sampling"]),
        ("num_shards: 2", "num_shards: 3", []),
        ("01:00:00", "02:00:00", []),
        ("http://a/v1", "http://b/v1", []),
        ("in_parallel: 4", "in_parallel: 8", []),
        ("2000", "3000", []),
        ("a_server:\n", "# a comment\na_server:\n\n", []),
    ],
)
def test_what_changes_the_meaning(tmp_path: Path, old: str, new: str, parts: list[str]) -> None:
    before = _meaning(tmp_path, MANIFEST, CONFIG)
    after = _meaning(tmp_path, MANIFEST.replace(old, new), CONFIG.replace(old, new))
    assert changed(before, after) == parts


def test_what_one_side_does_not_know_is_no_change() -> None:
    assert changed({"model": "", "server.a": "1", "server.b": "1"}, {"model": "m", "server.a": "1"}) == []
