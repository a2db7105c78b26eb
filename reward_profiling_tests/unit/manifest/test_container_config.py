"""The config of an image: what several manifests need together, resolvable without policy and secrets."""

from pathlib import Path

import pytest
import yaml

from reward_profiling.errors import ManifestError
from reward_profiling.manifest.container_config import missing, render
from reward_profiling.manifest.gym_configs import interpolations
from reward_profiling_tests.unit.manifest.making import AGENT_CONFIG, SWEEP, load, write_sweep

OVERLAY = """  judge:
    responses_api_models:
      openai_model: {entrypoint: app.py, api_key: '${oc.env:JUDGE}', url: '${judge_url}', list: ['${oc.env:A}', 1]}
"""


def with_overlay(overlay: str) -> str:
    return SWEEP.replace("gym_eval_run", overlay + "gym_eval_run")


def test_union_resolves_without_anything_set(tmp_path: Path) -> None:
    write_sweep(tmp_path)
    (tmp_path / "other.yaml").write_text(AGENT_CONFIG.replace("exam", "quiz") + "  token: '${oc.env:TOKEN}'\n")
    quiz = SWEEP.replace("agent.yaml", "other.yaml").replace("exam", "quiz")
    first, second = load(tmp_path, with_overlay(OVERLAY)), load(tmp_path, quiz)
    text = render([first, second])
    config = yaml.safe_load(text)
    assert config["config_paths"] == [str(tmp_path / name) for name in ("agent.yaml", "model.yaml", "other.yaml")]
    server = config["judge"]["responses_api_models"]["openai_model"]
    assert server["api_key"] == "placeholder"
    assert server["list"] == ["placeholder", 1]
    assert config["judge_url"] == "placeholder"
    assert config["quiz_agent"]["token"] == "placeholder"
    left = {each for each in interpolations(config) if each.split(".")[0] not in config}
    assert left == set()


def test_overlays_that_disagree_are_refused(tmp_path: Path) -> None:
    write_sweep(tmp_path)
    first = load(tmp_path, with_overlay(OVERLAY))
    second = load(tmp_path, with_overlay(OVERLAY.replace("JUDGE", "OTHER")))
    with pytest.raises(ManifestError, match=r"m\.yaml:4:3: `gym_env_start\.judge` differs from that of"):
        render([first, second])
    assert render([first, first]) == render([first])


def test_config_that_is_not_found_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="is not found"):
        render([load(tmp_path, SWEEP)])


def test_servers_that_an_image_lacks(tmp_path: Path) -> None:
    write_sweep(tmp_path)
    small, large = load(tmp_path, SWEEP), load(tmp_path, with_overlay(OVERLAY))
    image, wanted = yaml.safe_load(render([small])), yaml.safe_load(render([large]))
    assert missing(wanted, image, large.roots) == [("responses_api_models", "openai_model")]
    assert missing(image, wanted, large.roots) == []
