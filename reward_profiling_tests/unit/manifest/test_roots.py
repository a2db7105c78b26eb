"""Where files are looked for, and what a job is told about them."""

import os
from pathlib import Path

import pytest
import yaml

from reward_profiling.manifest.roots import SearchRoots, gym_command, installed_gym
from reward_profiling.manifest.sweep_config import render
from reward_profiling_tests.unit.manifest.making import TAIL, fake_gym, load

MODEL = "responses_api_models/vllm_model/configs/vllm_model.yaml"
EXAM = "resources_servers/exam_server/configs/exam.yaml"


def roots_of(folder: Path, **environ: str) -> SearchRoots:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    return SearchRoots.of(folder, {"PATH": "", **environ}, working_directory=work)


def test_order(tmp_path: Path) -> None:
    gym = fake_gym(tmp_path)
    places = {
        "working directory": tmp_path / "work",
        "manifest folder": tmp_path,
        "extra root": tmp_path / "extra",
        "checkout": tmp_path / "checkout",
        "installed gym": tmp_path / "venv/lib/python3.12/site-packages",
    }
    for folder in places.values():
        (folder / "a").mkdir(parents=True)
        (folder / "a/c.yaml").write_text("{}")
    roots = roots_of(
        tmp_path,
        NEMO_GYM_EXTRA_ROOTS=f"{tmp_path}/extra{os.pathsep}{tmp_path}/none",
        REWARD_PROFILING_GYM_CHECKOUT=str(tmp_path / "checkout"),
        REWARD_PROFILING_GYM=str(gym),
    )
    assert [kind for kind, _ in roots.roots] == list(places)
    for kind, folder in places.items():
        found = roots.find("a/c.yaml")
        assert found is not None
        assert (found.kind, found.path) == (kind, folder.resolve() / "a/c.yaml")
        (folder / "a/c.yaml").unlink()
    assert roots.find("a/c.yaml") is None


def test_absolute_paths_are_themselves(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.touch()
    roots = roots_of(tmp_path)
    found = roots.find(str(file))
    assert found is not None
    assert (found.path, found.kind) == (file, "absolute")
    assert roots.find(str(tmp_path / "none.yaml")) is None


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    assert roots_of(tmp_path).find("n" * 5000) is None
    assert load(tmp_path, TAIL.replace("d.jsonl", "d" * 5000)).digest_parts["data.x"] == "missing"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").mkdir()
    assert roots_of(tmp_path).find("c.yaml") is None


def test_gym_on_path_and_through_a_link(tmp_path: Path) -> None:
    gym = fake_gym(tmp_path)
    packages = tmp_path / "venv/lib/python3.12/site-packages"
    assert installed_gym({"PATH": str(gym.parent)}) == packages
    link = tmp_path / "elsewhere/gym"
    link.parent.mkdir()
    link.symlink_to(gym)
    assert installed_gym({"PATH": str(link.parent)}) == packages


def test_a_relative_gym_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gym = fake_gym(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert gym_command({"PATH": "", "REWARD_PROFILING_GYM": "venv/bin/gym"}) == gym


def test_editable_gym(tmp_path: Path) -> None:
    gym = fake_gym(tmp_path)
    packages = tmp_path / "venv/lib/python3.12/site-packages"
    checkout = tmp_path / "checkout"
    packages.rename(checkout)
    packages.mkdir()
    (packages / "gym.pth").write_text(f"import something\n{checkout}\n")
    assert installed_gym({"REWARD_PROFILING_GYM": str(gym)}) == checkout


@pytest.mark.parametrize("named", ["simulated", "/none/gym", ""])
def test_no_gym(named: str) -> None:
    assert installed_gym({"PATH": "", "REWARD_PROFILING_GYM": named}) is None
    assert gym_command({"PATH": "", "REWARD_PROFILING_GYM": named}) is None


def config_of(folder: Path, text: str, **environ: str) -> dict[str, object]:
    loaded = load(folder, text, {"PATH": "", **environ})
    value = yaml.safe_load(render(loaded, loaded.roots))
    assert isinstance(value, dict)
    return value


def test_a_job_reads_the_files_that_were_found(tmp_path: Path) -> None:
    gym = fake_gym(tmp_path)
    (tmp_path / "own.yaml").write_text("{}")
    text = TAIL.replace("[c.yaml]", f"[{EXAM}, own.yaml, nowhere/x.yaml]")
    paths = config_of(tmp_path, text, REWARD_PROFILING_GYM=str(gym))["config_paths"]
    assert paths == [EXAM, str(tmp_path / "own.yaml"), "nowhere/x.yaml"]


def test_what_shadows_gym_is_written_out(tmp_path: Path) -> None:
    gym = fake_gym(tmp_path)
    shadow = tmp_path / EXAM
    shadow.parent.mkdir(parents=True)
    shadow.write_text("{}")
    text = TAIL.replace("[c.yaml]", f"[{EXAM}]")
    assert config_of(tmp_path, text, REWARD_PROFILING_GYM=str(gym))["config_paths"] == [str(shadow)]


def test_the_sweeps_own_configs_come_last_and_once(tmp_path: Path) -> None:
    text = (
        "gym_env_start: {config_paths: [m.yaml, shared.yaml]}\nnickname: a\nentries:\n"
        "  - {label: x, agent: a, configs: [shared.yaml, one.yaml], data: d}\n"
        "  - {label: y, agent: a, configs: [one.yaml, two.yaml], data: d}\n"
    )
    (tmp_path / "m.yaml").touch()
    paths = config_of(tmp_path, text)["config_paths"]
    assert paths == ["one.yaml", "two.yaml", str(tmp_path / "m.yaml"), "shared.yaml"]


def test_two_ways_to_write_one_file(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("{}")
    text = f"gym_env_start: {{config_paths: [{tmp_path}/c.yaml]}}\n" + TAIL
    assert config_of(tmp_path, text)["config_paths"] == [str(tmp_path / "c.yaml")]


def test_overlay_is_written_as_it_is(tmp_path: Path) -> None:
    overlay = """gym_env_start:
  judge: &judge
    responses_api_models:
      m: {entrypoint: app.py, key: '${oc.env:KEY}', a: '4:00:00', b: '1e-3', c: null, d: 1e-3, e: 'no', f: "x\\ny"}
  other: *judge
"""
    config = config_of(tmp_path, overlay + TAIL)
    server = {
        "entrypoint": "app.py",
        "key": "${oc.env:KEY}",
        "a": "4:00:00",
        "b": "1e-3",
        "c": None,
        "d": 0.001,
        "e": "no",
        "f": "x\ny",
    }
    assert config == {
        "config_paths": ["c.yaml"],
        "judge": {"responses_api_models": {"m": server}},
        "other": {"responses_api_models": {"m": server}},
    }


def test_endpoint_stands_in_the_config(tmp_path: Path) -> None:
    text = (
        "gym_env_start: {policy_base_url: 'http://h/v1', policy_model_name: m, policy_api_key: '${oc.env:K}'}\n" + TAIL
    )
    config = config_of(tmp_path, text)
    assert (config["policy_base_url"], config["policy_model_name"]) == ("http://h/v1", "m")
    assert config["policy_api_key"] == "${oc.env:K}"


def test_search_path_of_a_job_holds_all_but_the_installation(tmp_path: Path) -> None:
    gym = fake_gym(tmp_path)
    roots = roots_of(tmp_path, REWARD_PROFILING_GYM=str(gym))
    assert roots.job_search_path == f"{tmp_path / 'work'}{os.pathsep}{tmp_path}"
