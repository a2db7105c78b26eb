"""What is refused when a work list and its rollouts are read: each refusal names file, line and cure."""

import json
from pathlib import Path

import pytest

from reward_profiling.errors import RolloutsError, StorageError
from reward_profiling.profile.gym_profile import profile_files
from reward_profiling_tests.unit.profile.rows import Profile, Row, result, work, write

WORK = [work(0, 0), work(0, 1)]
RESULTS = [result(0, 0, reward=1.0), result(0, 1, reward=0.0)]


def _refusal(directory: Path, inputs: list[Row | str], rollouts: list[Row | str], *, allow_partial: bool = True) -> str:
    """The refusal's text, after seeing that nothing was written and that an older profile was left alone."""
    paths = write(directory / "in.jsonl", inputs), write(directory / "out.jsonl", rollouts)
    old = write(directory / "out_agent_metrics.json", ["old"])
    with pytest.raises(RolloutsError) as caught:
        profile_files(*paths, allow_partial=allow_partial)
    assert sorted(directory.iterdir()) == sorted([*paths, old])
    assert old.read_text() == "old"
    text = str(caught.value)
    assert "\n" not in text and "; " in text
    return text.removeprefix(str(directory) + "/")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("\n", "out.jsonl:2: the line is blank"),
        ('{"reward": 1.0\n', "out.jsonl:2: the line is no valid JSON"),
        ('{"reward": NaN}\n', "out.jsonl:2: the line is no valid JSON"),
        ('{"reward": 1e999}\n', "out.jsonl:2: the line is no valid JSON"),
        ('{"reward": 1.0} {"reward": 2.0}\n', "out.jsonl:2: the line is no valid JSON"),
        ("[1]\n", "out.jsonl:2: the line is no JSON object"),
        ('{"_ng_task_index": 0}\n', "out.jsonl:2: `_ng_rollout_index` is missing"),
        ('{"_ng_rollout_index": 0}\n', "out.jsonl:2: `_ng_task_index` is missing"),
        ('{"_ng_task_index": "0", "_ng_rollout_index": 1}\n', "out.jsonl:2: `_ng_task_index` is no 64-bit integer"),
        ('{"_ng_task_index": 0, "_ng_rollout_index": true}\n', "out.jsonl:2: `_ng_rollout_index` is no 64-bit integer"),
        ('{"_ng_task_index": 18446744073709551615}\n', "out.jsonl:2: `_ng_task_index` is no 64-bit integer"),
        (json.dumps(result(0, 1) | {"response": [1]}) + "\n", "out.jsonl:2: `response` or `response.usage` is no"),
        (json.dumps(result(0, 1, usage=[1])) + "\n", "out.jsonl:2: `response` or `response.usage` is no object"),
    ],
)
def test_a_bad_rollout_line_is_refused_with_its_place(tmp_path: Path, line: str, problem: str) -> None:
    assert _refusal(tmp_path, WORK, [RESULTS[0], line]).startswith(problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("\n", "in.jsonl:2: the line is blank"),
        (json.dumps(work(0, 1) | {"agent_ref": "a"}) + "\n", "in.jsonl:2: `agent_ref` is no object"),
        (json.dumps(work(0, 1) | {"agent_ref": {"name": 5}}) + "\n", "in.jsonl:2: `agent_ref.name` is no string"),
        (json.dumps(work(0, 1, server=7)) + "\n", "in.jsonl:2: `_ng_environment_server` is no string"),
    ],
)
def test_a_bad_work_list_line_is_refused_with_its_place(tmp_path: Path, line: str, problem: str) -> None:
    assert _refusal(tmp_path, [WORK[0], line], RESULTS).startswith(problem)


def test_duplicate_keys_are_refused_in_either_file(tmp_path: Path) -> None:
    again = "the key of rollout 0:0 occurs a second time"
    assert _refusal(tmp_path, [*WORK, WORK[0]], RESULTS).startswith(f"in.jsonl:3: {again};")
    rows = [*RESULTS, RESULTS[0], RESULTS[1]]
    assert _refusal(tmp_path, WORK, rows).startswith(f"out.jsonl:3: {again} (and 1 more such rows);")


def test_a_rollout_that_is_not_in_the_work_list_is_refused(tmp_path: Path) -> None:
    text = _refusal(tmp_path, WORK, [RESULTS[0], result(7, 0)])
    assert text.startswith("out.jsonl:2: rollout 7:0 is not in the work list;")


def test_missing_rollouts_are_refused_unless_partial_is_allowed(tmp_path: Path) -> None:
    text = _refusal(tmp_path, WORK, [RESULTS[0]], allow_partial=False)
    assert text.startswith("in.jsonl:2: 1 of 2 rollouts are missing, the first is 0:1;")
    assert "--allow-partial" in text


def test_missing_rollouts_are_refused_before_masking(tmp_path: Path) -> None:
    masked = [result(0, 0, mask_sample=True)]
    assert "1 of 2 rollouts are missing" in _refusal(tmp_path, WORK, masked, allow_partial=False)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(RolloutsError, match=r"nowhere\.jsonl: there is no such file; check the path"):
        profile_files(tmp_path / "nowhere.jsonl", tmp_path / "out.jsonl", allow_partial=True)


def test_a_directory_in_place_of_a_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="directory"):
        profile_files(tmp_path, tmp_path / "out.jsonl", allow_partial=True)


def test_carriage_returns_trailing_blanks_and_a_missing_last_newline_are_harmless(tmp_path: Path) -> None:
    rollouts = [json.dumps(RESULTS[0]) + "\r\n", json.dumps(RESULTS[1]) + "   "]
    assert Profile(tmp_path, WORK, rollouts).groups[0]["num_rollouts"] == 2


@pytest.mark.parametrize("reference", [None, {}, [], "", 0])
def test_an_empty_agent_ref_is_none_at_all(tmp_path: Path, reference: object) -> None:
    profile = Profile(tmp_path, [work(0, 0) | {"agent_ref": reference}], [result(0, 0, reward=1.0)])
    assert profile.agents == []
    assert profile.groups[0]["mean/reward"] == 1.0


def test_surplus_work_list_rows_without_any_rollout_vanish_from_the_groups(tmp_path: Path) -> None:
    profile = Profile(tmp_path, [*WORK, work(5, 0)], RESULTS)
    assert [row["_ng_task_index"] for row in profile.groups] == [0]
    assert (profile.completion.groups, profile.completion.empty) == (2, 1)


def test_two_empty_files_are_a_complete_profile_of_nothing(tmp_path: Path) -> None:
    profile = Profile(tmp_path, [], [])
    assert (profile.groups, profile.agents, profile.repeats) == ([], [], [])
    assert profile.completion.percent == 100.0
