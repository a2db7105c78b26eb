"""What a collector keeps to, whichever it is: one suite that runs against the stand-in and against NeMo Gym.

A lane subclasses `CollectorContract` and provides two fixtures: `collector`, with the demo's servers running, and
`failing`, a context in which every rollout fails; both may be shared by the whole session.
"""

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from reward_profiling_tests.collector import (
    Collector,
    Key,
    beside,
    demo_rows,
    keys_of,
    read_rows,
    write_work_list,
)

Failing = Callable[[], contextlib.AbstractContextManager[tuple[str, ...]]]
"""Yields arguments that `eval run` must be given while every rollout is to fail."""

ROLLOUT_KEYS = {
    *("responses_create_params", "response", "reward", "mask_sample", "failure_kind", "failure_reason"),
    *("_ng_task_index", "_ng_rollout_index", "agent_ref", "_ng_environment_server", "_ng_result_type"),
}
FAILURE_KEYS = {
    *("_ng_failure_class", "_ng_failure_type", "_ng_failure_message", "_ng_failure_http_status"),
    *("_ng_failure_response_body", "_ng_task_index", "_ng_rollout_index", "agent_ref"),
    *("_ng_environment_server", "_ng_result_type"),
}
VERIFIER_KEYS = {"expected_answer", "extracted_answer", "_simulated"}
"""What a row may hold beside: the verifier's own fields, the stand-in's mark."""


@dataclass(frozen=True)
class Resumed:
    """An interrupted shard's keys by their state, and the rows that the collector has added to it."""

    done: Key
    torn: Key
    terminal: Key
    failed: tuple[Key, Key]
    """Failed once, failed twice."""
    collected: Sequence[Mapping[str, Any]] = ()


class CollectorContract:
    """Gym contract 3.2-3.8, as far as a job relies on it."""

    @pytest.fixture(scope="class")
    def resumed(self, collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Resumed:
        """The interrupted shard after one run."""
        output = tmp_path_factory.mktemp("interrupted") / "rollouts.jsonl"
        shard = interrupted_shard(output)
        run = collector.collect(output)
        assert run.returncode == 0, run.stderr
        rows = read_rows(output)
        assert keys_of(rows[:1]) == [shard.done]
        return replace(shard, collected=rows[1:])

    def test_failures_are_routed_counted_and_given_up(
        self, collector: Collector, failing: Failing, tmp_path: Path
    ) -> None:
        """Everything fails: exit 1, one sidecar row each; what then succeeds says how often it had failed."""
        output = tmp_path / "rollouts.jsonl"
        keys = write_work_list(output, demo_rows("geography", 2), 2)
        with failing() as arguments:
            run = collector.collect(output, *arguments)
        assert run.returncode == 1, run.stderr
        failures = read_rows(beside(output, "failures"))
        assert keys_of(failures) == keys
        assert all(set(row) - VERIFIER_KEYS == FAILURE_KEYS for row in failures)
        assert {row["_ng_failure_class"] for row in failures} == {"agent_run_error"}
        assert read_rows(output) == []

        third = {**failures[0], "_ng_attempt_index": 1}
        given_up = (third["_ng_task_index"], third["_ng_rollout_index"])
        with beside(output, "failures").open("a") as sidecar:
            sidecar.writelines(json.dumps(third) + "\n" for _ in range(2))
        run = collector.collect(output)
        assert run.returncode == 0, run.stderr
        rows = read_rows(output)
        assert keys_of(rows) == sorted(set(keys) - {given_up})
        assert {row["_ng_attempt_index"] for row in rows} == {1}

    def test_resuming_runs_exactly_what_is_outstanding(self, resumed: Resumed) -> None:
        """Not what succeeded or failed for good; with the number of earlier failures where there are any."""
        outstanding = [resumed.torn, *resumed.failed]
        assert keys_of(resumed.collected) == sorted(outstanding)
        attempts = {key: row.get("_ng_attempt_index") for row in resumed.collected for key in keys_of([row])}
        assert [attempts[key] for key in outstanding] == [None, 1, 2]

    def test_a_rollout_row_has_the_keys_that_profiles_read(self, resumed: Resumed) -> None:
        (first_attempt,) = (row for row in resumed.collected if keys_of([row]) == [resumed.torn])
        assert set(first_attempt) - VERIFIER_KEYS == ROLLOUT_KEYS

    def test_a_failure_without_routing_ends_the_run(
        self, collector: Collector, failing: Failing, tmp_path: Path
    ) -> None:
        output = tmp_path / "rollouts.jsonl"
        write_work_list(output, demo_rows("geography", 1), 2)
        with failing() as arguments:
            run = collector.collect(output, *arguments, routed=False)
        assert run.returncode != 0
        assert read_rows(beside(output, "failures")) == read_rows(output) == []

    def test_an_agent_that_does_not_run_ends_the_run(self, collector: Collector, tmp_path: Path) -> None:
        output = tmp_path / "rollouts.jsonl"
        (row,) = demo_rows("geography", 1)
        write_work_list(output, [{**row, "agent_ref": {**row["agent_ref"], "name": "nobody_agent"}}], 1)
        run = collector.collect(output)
        assert run.returncode == 1
        assert "nobody_agent" in run.stdout + run.stderr
        assert read_rows(output) == []

    def test_an_unknown_flag_is_a_usage_error(self, collector: Collector, tmp_path: Path) -> None:
        output = tmp_path / "rollouts.jsonl"
        write_work_list(output, demo_rows("geography", 1), 1)
        assert collector.collect(output, "--route-failures").returncode == 2
        assert read_rows(output) == []


def interrupted_shard(output: Path) -> Resumed:
    """A shard as a killed run leaves it: five keys, each in a state of its own."""
    done, torn, terminal, once, twice = write_work_list(output, demo_rows("geography", 5), 1)
    success = json.dumps({"reward": 1.0, "_ng_task_index": done[0], "_ng_rollout_index": done[1]})
    half = json.dumps({"reward": 1.0, "_ng_task_index": torn[0], "_ng_rollout_index": torn[1]})[:-9]
    output.write_text(f"{success}\n{half}", encoding="utf-8")
    failures = [_failure(terminal, terminal=True), _failure(once), _failure(twice), _failure(twice)]
    text = "".join(json.dumps(row) + "\n" for row in failures)
    beside(output, "failures").write_text(text, encoding="utf-8")
    return Resumed(done, torn, terminal, (once, twice))


def _failure(key: Key, *, terminal: bool = False) -> dict[str, object]:
    row: dict[str, object] = {"_ng_task_index": key[0], "_ng_rollout_index": key[1], "_ng_failure_class": "skipped"}
    return {**row, "_ng_failure_terminal": True} if terminal else row
