"""Small work lists and rollout files, written by hand in the tests of this room."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reward_profiling.profile.gym_profile import profile_files
from reward_profiling_tests.unit.profile.compare import load

Row = dict[str, Any]


def work(task: int, rollout: int, agent: str | None = "a", server: str | None = None, **fields: Any) -> Row:
    """A work-list row."""
    reference = {"agent_ref": {"name": agent}} if agent is not None else {}
    stamp = {"_ng_environment_server": server} if server is not None else {}
    return {**fields, **reference, **stamp, "_ng_task_index": task, "_ng_rollout_index": rollout}


def result(task: int, rollout: int, usage: Row | None = None, **fields: Any) -> Row:
    """A rollout row."""
    return {**fields, "response": {"usage": usage}, "_ng_task_index": task, "_ng_rollout_index": rollout}


def write(path: Path, rows: Sequence[Row | str]) -> Path:
    """One row per line; a text is written as it stands."""
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


class Profile:
    """The three outputs of a profile with partial results allowed."""

    def __init__(self, directory: Path, inputs: Sequence[Row | str], rollouts: Sequence[Row | str]) -> None:
        outcome = profile_files(
            write(directory / "in.jsonl", inputs), write(directory / "out.jsonl", rollouts), allow_partial=True
        )
        self.completion = outcome.completion
        self.groups: list[Row] = load(outcome.files.groups)
        self.agents: list[Row] = load(outcome.files.agents)
        self.repeats: list[Row] = load(outcome.files.repeats)


def profile_values(directory: Path, *groups: Sequence[Row]) -> Profile:
    """Profile tasks 0, 1, ... of one agent, each given by the fields of its rollouts."""
    keys = [(task, rollout) for task, rollouts in enumerate(groups) for rollout in range(len(rollouts))]
    return Profile(directory, [work(*key) for key in keys], [result(*key, **groups[key[0]][key[1]]) for key in keys])
