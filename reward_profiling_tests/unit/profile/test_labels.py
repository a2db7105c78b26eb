"""Labels of run keys and the fan-out (Gym contract 6.3)."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from reward_profiling.profile.labels import label_run_keys
from reward_profiling_tests.unit.profile.rows import Profile, result, work


@pytest.mark.parametrize(
    ("agents", "labels"),
    [
        ({"S": "a"}, {"S": "a"}),
        ({"S": "a", "T": "a"}, {"S": "S", "T": "T"}),
        ({"S": "a", "a": "a"}, {"S": "S", "a": "a"}),
        ({"S": None}, {"S": "S"}),
        # The agent of S is called like the run key B, which cannot be called after its own agent.
        ({"S": "B", "B": "C", "D": "C"}, {"S": "S", "B": "B", "D": "D"}),
        # Giving way to D makes S clash in turn.
        ({"S": "D", "T": "S", "D": "x", "E": "x"}, {"S": "S", "T": "T", "D": "D", "E": "E"}),
    ],
)
def test_labels_of_run_keys(agents: Mapping[str, str | None], labels: dict[str, str]) -> None:
    assert label_run_keys(agents) == labels


def _labels(directory: Path, *rows: dict[str, object]) -> list[str]:
    results = [result(row["_ng_task_index"], row["_ng_rollout_index"], reward=1.0) for row in rows]  # type: ignore[arg-type]
    return [agent["agent_ref"]["name"] for agent in Profile(directory, rows, results).agents]


def test_the_first_row_of_a_run_key_gives_its_agent(tmp_path: Path) -> None:
    assert _labels(tmp_path, work(1, 0, "b", "S"), work(0, 1, "a", "S")) == ["b"]


def test_a_row_without_agent_still_counts_as_the_first(tmp_path: Path) -> None:
    assert _labels(tmp_path, work(0, 0, None, "S"), work(0, 1, "a", "S")) == ["S"]


def test_masked_rows_have_no_say_in_labels(tmp_path: Path) -> None:
    rows = [work(0, 0, "a", "S"), work(0, 1, "b", "S")]
    profile = Profile(tmp_path, rows, [result(0, 0, reward=1.0, mask_sample=True), result(0, 1, reward=1.0)])
    assert [agent["agent_ref"]["name"] for agent in profile.agents] == ["b", "a"]
    assert "coverage/masked_rollouts" in profile.agents[1]


def test_an_empty_server_name_is_a_run_key_and_a_null_one_is_not(tmp_path: Path) -> None:
    assert _labels(tmp_path, work(0, 0, "a", ""), work(1, 0, "a") | {"_ng_environment_server": None}) == ["", "a"]


def test_no_label_counts_as_one_more_label_of_a_task(tmp_path: Path) -> None:
    profile = Profile(tmp_path, [work(0, 0), work(0, 1, None)], [result(0, 0, reward=1.0), result(0, 1, reward=0.0)])
    assert [(row["agent_ref"]["name"], row["num_rollouts"]) for row in profile.groups] == [("a", 1)]


def test_two_agents_for_different_tasks_are_no_fan_out(tmp_path: Path) -> None:
    profile = Profile(tmp_path, [work(0, 0), work(1, 0, "b")], [result(0, 0, reward=1.0), result(1, 0, reward=0.0)])
    assert all("agent_ref" not in row for row in profile.groups)
