"""The digest: what changes it, what does not, and what it says about a change."""

import os
from pathlib import Path

import pytest

from reward_profiling.manifest.load import load_manifest
from reward_profiling_tests.unit.manifest.making import SWEEP, load, write_rows, write_sweep

NOTHING = {"PATH": ""}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_comments_and_order_of_keys_do_not_matter(tmp_path: Path) -> None:
    write_sweep(tmp_path)
    first = load(tmp_path, "vllm: {model: m, nodes: 2}\n" + SWEEP)
    second = load(tmp_path, "# why\nvllm:\n  nodes: 2\n  model: m\n" + SWEEP)
    assert first.digest == second.digest
    assert first.digest.startswith("sha256:")
    assert len(first.digest) == 71


def test_a_default_written_out_is_no_change(tmp_path: Path) -> None:
    write_sweep(tmp_path)
    assert load(tmp_path, SWEEP).digest == load(tmp_path, "num_shards: 1\n" + SWEEP).digest


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("nickname: exams", "nickname: other", {"manifest.nickname"}),
        ("num_repeats: 4", "num_repeats: 5", {"manifest.gym_eval_run"}),
        ("label: exam\n", "label: exam\n    owner: me\n", {"entry.exam"}),
        ("nickname: exams", "nickname: exams\nvllm: {model: m}", {"manifest.vllm", "model"}),
        ("nickname: exams", "nickname: exams\nsrun: {container: c}", {"manifest.srun", "container"}),
        ("config_paths: [model.yaml]", "config_paths: [model.yaml]\n  x: 1", {"manifest.gym_env_start"}),
    ],
)
def test_parts_say_what_changed(old: str, new: str, parts: set[str], tmp_path: Path) -> None:
    write_sweep(tmp_path)
    before, after = load(tmp_path, SWEEP), load(tmp_path, SWEEP.replace(old, new))
    assert before.digest != after.digest
    assert changed(dict(before.digest_parts), dict(after.digest_parts)) == parts


def test_content_of_configs_counts_and_their_age_does_not(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    before = load_manifest(path, environ=NOTHING)
    os.utime(tmp_path / "agent.yaml", (1, 1))
    assert load_manifest(path, environ=NOTHING).digest == before.digest
    with (tmp_path / "agent.yaml").open("a") as stream:
        stream.write("# changed\n")
    after = load_manifest(path, environ=NOTHING)
    assert changed(dict(before.digest_parts), dict(after.digest_parts)) == {"config.agent.yaml"}


def test_included_configs_count(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    (tmp_path / "base.yaml").write_text("base: 1\n")
    agent = tmp_path / "agent.yaml"
    agent.write_text("config_paths: [base.yaml]\n" + agent.read_text())
    before = load_manifest(path, environ=NOTHING)
    (tmp_path / "base.yaml").write_text("base: 2\n")
    after = load_manifest(path, environ=NOTHING)
    assert changed(dict(before.digest_parts), dict(after.digest_parts)) == {"config.base.yaml"}


def test_the_engines_script_counts(tmp_path: Path) -> None:
    write_sweep(tmp_path)
    (tmp_path / "engines.sh").write_text("VLLM_COMMON_ARGS=()\n")
    text = "vllm: {config: engines.sh}\n" + SWEEP
    before = load(tmp_path, text)
    (tmp_path / "engines.sh").write_text("VLLM_COMMON_ARGS=(--seed 1)\n")
    assert changed(dict(before.digest_parts), dict(load(tmp_path, text).digest_parts)) == {"config.engines.sh"}


def test_size_and_time_of_data_count(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    before = load_manifest(path, environ=NOTHING)
    write_rows(tmp_path / "exam.jsonl", 4)
    grown = load_manifest(path, environ=NOTHING)
    assert changed(dict(before.digest_parts), dict(grown.digest_parts)) == {"data.exam"}
    (tmp_path / "exam.jsonl").unlink()
    assert load_manifest(path, environ=NOTHING).digest_parts["data.exam"] == "missing"


@pytest.mark.parametrize(("content", "seconds"), [(b"{}\n{}\n", 1000), (b"{}\n", 2000)])
def test_size_alone_and_time_alone_count(content: bytes, seconds: int, tmp_path: Path) -> None:
    path, data = write_sweep(tmp_path), tmp_path / "exam.jsonl"
    data.write_bytes(b"{}\n")
    os.utime(data, (1000, 1000))
    before = load_manifest(path, environ=NOTHING)
    data.write_bytes(content)
    os.utime(data, (seconds, seconds))
    assert load_manifest(path, environ=NOTHING).digest != before.digest


def test_configs_that_include_each_other(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    (tmp_path / "base.yaml").write_text("config_paths: [agent.yaml]\n")
    (tmp_path / "agent.yaml").write_text("config_paths: [base.yaml]\n")
    assert {"config.base.yaml", "config.agent.yaml"} <= load_manifest(path, environ=NOTHING).digest_parts.keys()


def test_order_of_entries_counts(tmp_path: Path) -> None:
    entries = [f"  - {{label: {label}, agent: a, configs: [c], data: d}}\n" for label in "xy"]
    first = load(tmp_path, "nickname: a\nentries:\n" + "".join(entries))
    second = load(tmp_path, "nickname: a\nentries:\n" + "".join(reversed(entries)))
    assert changed(dict(first.digest_parts), dict(second.digest_parts)) == {"manifest.order"}


def test_where_an_endpoint_is_stands_apart(tmp_path: Path) -> None:
    text = "nickname: a\ngym_env_start: {policy_base_url: 'http://h/v1', policy_model_name: m}\n"
    text += "entries: [{label: x, agent: a, configs: [c], data: d}]\n"
    first, second = load(tmp_path, text), load(tmp_path, text.replace("//h", "//i"))
    assert changed(dict(first.digest_parts), dict(second.digest_parts)) == {"endpoint"}
