"""Every broken manifest of the corpus is refused with one line that names place, problem and cure."""

import re
from pathlib import Path

import pytest
import yaml

from reward_profiling.errors import ManifestError
from reward_profiling.manifest.load import load_manifest
from reward_profiling.manifest.problems import ManifestProblemsError
from reward_profiling_tests.unit.manifest.making import NOTHING, TAIL, load

CORPUS = yaml.safe_load((Path(__file__).parent / "broken.yaml").read_text())


def test_corpus_is_large_and_names_each_case_once() -> None:
    names = [case["name"] for case in CORPUS]
    assert len(names) >= 80
    assert len(set(names)) == len(names)


def test_what_follows_each_case_is_right_by_itself(tmp_path: Path) -> None:
    assert load(tmp_path, TAIL).manifest.nickname == "a"


@pytest.mark.parametrize("case", CORPUS, ids=[case["name"] for case in CORPUS])
def test_broken_manifest(case: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = case["whole"] if "whole" in case else case["text"] + TAIL
    with pytest.raises(ManifestError) as refused:
        load(Path(), text, NOTHING)
    assert str(refused.value) == case["says"]
    assert re.match(r"m\.yaml:\d+:\d+: ", str(refused.value))
    assert "\n" not in str(refused.value)


def test_all_problems_are_kept_in_file_order(tmp_path: Path) -> None:
    text = "num_shards: x\nsrun:\n  sandbox_port: 0\nsbatch:\n  acount: me\n" + TAIL
    with pytest.raises(ManifestProblemsError) as refused:
        load(tmp_path, text)
    lines = [problem.place.split(":")[-2] for problem in refused.value.problems]
    assert lines == ["1", "3", "5"]
    assert str(refused.value).endswith("(+2 more)")


def test_no_secret_is_repeated(tmp_path: Path) -> None:
    text = "gym_env_start:\n  judge:\n    api_key: sk-verysecret\n  policy_api_key: [sk-verysecret]\n" + TAIL
    with pytest.raises(ManifestProblemsError) as refused:
        load(tmp_path, text)
    assert "verysecret" not in " ".join(problem.text for problem in refused.value.problems)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"nickname: \xff\n", "m.yaml:1:11: is not UTF-8; save the file as UTF-8"),
        (b"a: 1\n\nb: \xc3(\n", "m.yaml:3:4: is not UTF-8; save the file as UTF-8"),
    ],
)
def test_not_utf8(content: bytes, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.yaml").write_bytes(content)
    with pytest.raises(ManifestError) as refused:
        load_manifest(Path("m.yaml"), environ=NOTHING)
    assert str(refused.value) == says


def test_files_that_are_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="no such file"):
        load_manifest(tmp_path / "none.yaml", environ=NOTHING)
    with pytest.raises(ManifestError, match="is a directory"):
        load_manifest(tmp_path, environ=NOTHING)
    large = tmp_path / "large.yaml"
    with large.open("wb") as stream:
        stream.truncate(17 * 2**20)
    with pytest.raises(ManifestError, match="larger than 16 MiB"):
        load_manifest(large, environ=NOTHING)
