"""The example manifests load, agree with themselves, and show what their names promise."""

import re
from pathlib import Path

import pytest

from reward_profiling.manifest.load import load_manifest
from reward_profiling.manifest.validate import validate
from reward_profiling_tests.parts import REPOSITORY

EXAMPLES = sorted((REPOSITORY / "manifests/examples").glob("*.yaml"))


def test_all_four_are_there() -> None:
    assert [path.stem for path in EXAMPLES] == ["basic", "judge", "production", "sandbox_judge"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_right_as_far_as_it_alone_tells(path: Path) -> None:
    loaded = load_manifest(path, environ={"PATH": ""})
    found = validate(loaded, level="schema", environ={}, max_nodes_per_job=16)
    assert (found.errors, found.warnings) == ((), ())
    assert loaded.manifest.nickname == path.stem


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_commented_and_names_no_real_place(path: Path) -> None:
    text = path.read_text()
    assert text.count("#") >= 8
    assert text.startswith("#")
    allowed = ("/data/", "/models/", "/images/", "/configs/")
    for entry in load_manifest(path, environ={"PATH": ""}).manifest.entries:
        assert entry.data.startswith(allowed)
    hosts = re.findall(r"https?://([^/:\s]+)", text)
    assert set(hosts) <= {"judge.example.org", "host"}


def test_production_has_the_production_shape() -> None:
    manifest = load_manifest(REPOSITORY / "manifests/examples/production.yaml", environ={"PATH": ""}).manifest
    assert len(manifest.entries) == 36
    assert (manifest.num_shards, manifest.nodes_per_job, manifest.concurrency) == (16, 10, 4096)
    assert len({entry.effective_agent for entry in manifest.entries}) < 36
