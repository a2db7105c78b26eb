"""What a job must survive, made by the stand-in on demand: kills, torn tails, hangs, exits, failed attempts, masks."""

import json
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from reward_profiling_tests.collector import (
    Collector,
    beside,
    demo_rows,
    free_port,
    keys_of,
    read_rows,
    write_work_list,
)

TASKS, REPEATS = 10, 4
ALL_KEYS = [(task, rollout) for task in range(TASKS) for rollout in range(REPEATS)]
Collect = Callable[..., int]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    path = tmp_path / "shard" / "rollouts.jsonl"
    write_work_list(path, demo_rows("geography", TASKS), REPEATS)
    return path


def rewards(output: Path) -> dict[tuple[int, int], float]:
    return {(row["_ng_task_index"], row["_ng_rollout_index"]): row["reward"] for row in read_rows(output)}


def await_lines(path: Path, count: int) -> None:
    deadline = time.monotonic() + 20
    while path.read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline, "no rows come"
        time.sleep(0.01)


def test_every_row_is_marked_and_every_rollout_collected_once(collect: Collect, output: Path) -> None:
    assert collect(output) == 0
    rows = read_rows(output)
    assert keys_of(rows) == ALL_KEYS
    assert all(row["_simulated"] is True for row in rows)
    before = output.read_bytes()
    assert collect(output) == 0
    assert output.read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_in_mid_run_it_leaves_whole_lines_and_goes_on(
    collector: Collector, collect: Collect, output: Path, tmp_path: Path, number: signal.Signals
) -> None:
    process = collector.start(output, "++simulate.rollouts_per_second=50")
    await_lines(output, 5)
    process.send_signal(number)
    assert process.wait(timeout=10) == -number
    assert 5 <= len(read_rows(output)) < TASKS * REPEATS
    assert collect(output) == 0

    undisturbed = tmp_path / "undisturbed" / "rollouts.jsonl"
    write_work_list(undisturbed, demo_rows("geography", TASKS), REPEATS)
    assert collect(undisturbed) == 0
    assert rewards(output) == rewards(undisturbed)


def test_dying_in_the_middle_of_a_line_leaves_a_torn_tail_that_the_next_run_mends(
    collector: Collector, output: Path
) -> None:
    run = collector.collect(output, "++simulate.die_after=15")
    assert run.returncode == -signal.SIGKILL
    content = output.read_bytes()
    assert content.count(b"\n") == 15
    assert not content.endswith(b"\n")
    run = collector.collect(output)
    assert run.returncode == 0
    assert "torn" in run.stderr
    assert len(set(keys_of(read_rows(output)))) == len(read_rows(output)) == TASKS * REPEATS


def test_hanging_it_writes_nothing_more_and_lives(collector: Collector, output: Path) -> None:
    process = collector.start(output, "++simulate.hang_after=7")
    await_lines(output, 7)
    time.sleep(0.3)
    assert process.poll() is None
    assert len(read_rows(output)) == 7
    process.terminate()
    assert process.wait(timeout=10) == -signal.SIGTERM


def test_it_ends_with_the_exit_code_that_was_asked_for(collect: Collect, output: Path) -> None:
    with pytest.raises(SystemExit, match="77"):
        collect(output, "++simulate.exit_after=3", "++simulate.exit_code=77")
    assert len(read_rows(output)) == 3


def test_an_interrupt_ends_it_with_an_error(collector: Collector, output: Path) -> None:
    process = collector.start(output, "++simulate.hang_after=2")
    await_lines(output, 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) not in (0, 2)


def test_shares_of_attempts_fail_by_class_and_succeed_in_the_end(collect: Collect, output: Path) -> None:
    shares = {"agent_run_error": 0.2, "agent_request_failed": 0.2, "judge_failed": 0.2}
    fault = f"++simulate.failures={json.dumps(shares)}"
    assert collect(output, fault) == 0
    failures = read_rows(beside(output, "failures"))
    by_class = {name: [row for row in failures if row["_ng_failure_class"] == name] for name in shares}
    assert all(2 <= len(rows) <= 16 for rows in by_class.values())
    assert {row["_ng_failure_http_status"] for row in by_class["agent_request_failed"]} == {503}
    assert "reward" not in by_class["agent_run_error"][0]
    assert all("response" in row for row in by_class["judge_failed"])
    assert all(row["_simulated"] is True for row in failures)

    for _ in range(3):  # one more than the attempts that are left
        assert collect(output, fault) == 0
    attempts = Counter(keys_of(read_rows(beside(output, "failures"))))
    given_up = [key for key, failed in attempts.items() if failed == 3]
    assert 1 <= len(given_up) <= 15
    assert keys_of(read_rows(output)) == sorted(set(ALL_KEYS) - set(given_up))


def test_what_a_server_calls_a_failure_is_routed_without_being_asked(collect: Collect, output: Path) -> None:
    assert collect(output, '++simulate.failures={"judge_failed": 0.3}', routed=False) == 0
    assert read_rows(beside(output, "failures"))


def test_terminal_failures_are_never_tried_again(collect: Collect, output: Path) -> None:
    assert collect(output, "++simulate.terminal_rate=0.2") == 0
    failures = read_rows(beside(output, "failures"))
    assert 2 <= len(failures) <= 16
    assert all(row["_ng_failure_terminal"] is True for row in failures)
    assert collect(output) == 0
    assert read_rows(beside(output, "failures")) == failures
    assert collect(output, "+require_complete=true") == 1


def test_masked_rollouts_are_done(collect: Collect, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_PROFILING_SIMULATE_MASKED_RATE", "0.25")
    assert collect(output) == 0
    masked = [row for row in read_rows(output) if row["mask_sample"]]
    assert 3 <= len(masked) <= 18
    assert all(row["failure_kind"] for row in masked)


def test_nothing_is_dispatched_beyond_the_attempts_that_the_environment_allows(
    collect: Collect, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEMO_GYM_MAX_ROLLOUT_ATTEMPTS", "1")
    every = '++simulate.failures={"agent_run_error": 1}'
    assert collect(output, every) == 1
    assert collect(output, every) == 0
    assert len(read_rows(beside(output, "failures"))) == TASKS * REPEATS


def test_the_head_server_is_asked_even_when_nothing_is_left(collector: Collector, tmp_path: Path) -> None:
    output = tmp_path / "rollouts.jsonl"
    write_work_list(output, [], 1)
    elsewhere = Collector(collector.argv, free_port(), collector.directory)
    run = elsewhere.collect(output)
    assert run.returncode == 1
    assert len(run.stderr.splitlines()) == 1


def test_a_rollout_of_another_shard_ends_the_run_unless_results_are_not_retained(
    collect: Collect, output: Path
) -> None:
    output.write_text(json.dumps({"_ng_task_index": 99, "_ng_rollout_index": 0}) + "\n")
    assert collect(output, "++retain_results_in_memory=true") == 1
    assert len(read_rows(output)) == 1
    assert collect(output) == 0


def test_without_work_list_and_output_it_starts_over_from_the_input(collect: Collect, tmp_path: Path) -> None:
    """Identical lines share a task, repeats are adjacent, and what was there is gone."""
    output, source = tmp_path / "new" / "rollouts.jsonl", tmp_path / "input.jsonl"
    first, second = (json.dumps(row) for row in demo_rows("geography", 2))
    source.write_text(f"{first}\n{second}\n\n{first}\n")
    output.parent.mkdir()
    output.write_text('{"_ng_task_index": 0, "_ng_rollout_index": 0}\n')
    beside(output, "failures").write_text('{"_ng_task_index": 0, "_ng_rollout_index": 0}\n' * 3)
    command = ["++input_jsonl_fpath=" + str(source), "--num-repeats", "2"]
    assert collect(output, *command) == 0
    keys = [
        (row["_ng_task_index"], row["_ng_rollout_index"]) for row in read_rows(beside(output, "materialized_inputs"))
    ]
    assert keys == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3)]
    assert keys_of(read_rows(output)) == sorted(keys)
    assert read_rows(beside(output, "failures")) == []
