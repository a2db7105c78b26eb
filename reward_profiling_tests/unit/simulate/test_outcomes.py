"""Outcomes are drawn from seed, label, content and index alone; labels differ; the pace is what was asked for."""

import random
import time
from collections.abc import Callable
from pathlib import Path

from reward_profiling.simulate.outcomes import Outcome, Outcomes
from reward_profiling.simulate.steering import Steering
from reward_profiling_tests.collector import beside, demo_rows, read_rows, write_work_list

Collect = Callable[..., int]


def drawn(steering: Steering, label: str = "one", tasks: int = 200, repeats: int = 8) -> dict[tuple[int, int], Outcome]:
    outcomes = Outcomes(steering)
    keys = [(task, rollout) for task in range(tasks) for rollout in range(repeats)]
    random.Random(steering.seed).shuffle(keys)
    return {
        (task, rollout): outcomes.outcome(outcomes.traits(label, b"prompt %d" % task), rollout, 0)
        for task, rollout in keys
    }


def pass_rate(label: str, steering: Steering) -> float:
    found = drawn(steering, label)
    return sum(outcome.reward for outcome in found.values()) / len(found)


def test_order_and_interleaved_labels_change_nothing() -> None:
    outcomes, again = Outcomes(Steering()), Outcomes(Steering())
    forward = [outcomes.outcome(outcomes.traits(label, b"x"), 0, 0) for label in ("a", "b", "a", "b")]
    backward = [again.outcome(again.traits(label, b"x"), 0, 0) for label in ("b", "a")]
    assert forward == [*reversed(backward), *reversed(backward)]
    assert drawn(Steering()) == drawn(Steering())


def test_the_attempt_changes_whether_it_fails_and_not_the_reward() -> None:
    outcomes = Outcomes(Steering(failures={"agent_run_error": 0.5}))
    task = outcomes.traits("a", b"x")
    found = [outcomes.outcome(task, rollout, attempt) for rollout in range(20) for attempt in range(3)]
    assert {outcome.failure for outcome in found} == {"", "agent_run_error"}
    for rollout in range(20):
        assert len({(outcome.reward, outcome.output_tokens) for outcome in found[3 * rollout : 3 * rollout + 3]}) == 1


def test_another_seed_is_another_sweep() -> None:
    assert drawn(Steering(seed=1)) != drawn(Steering(seed=2))


def test_rewards_differ_within_tasks_of_a_mixed_label_and_labels_can_be_steered() -> None:
    steering = Steering(skills={"mixed": (1, 1), "saturated": (500, 1), "hopeless": (1, 500)})
    mixed = drawn(steering, "mixed")
    spread = sum(len({mixed[task, rollout].reward for rollout in range(8)}) > 1 for task in range(200))
    assert spread > 100
    assert pass_rate("saturated", steering) > 0.98
    assert pass_rate("hopeless", steering) < 0.02


def test_the_demo_shows_a_saturated_a_hopeless_and_a_mixed_environment() -> None:
    rates = [pass_rate(label, Steering()) for label in ("geography", "arithmetic", "scheduling")]
    assert rates[0] > 0.9
    assert rates[1] < 0.1
    assert 0.15 < rates[2] < 0.85


def test_a_shuffled_and_split_work_list_gives_each_rollout_the_same_reward(collect: Collect, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole" / "rollouts.jsonl", tmp_path / "part" / "rollouts.jsonl"
    for output in (whole, part):
        write_work_list(output, demo_rows("scheduling", 6), 3)
    lines = beside(part, "materialized_inputs").read_text().splitlines(keepends=True)
    random.Random(3).shuffle(lines)
    beside(part, "materialized_inputs").write_text("".join(lines[:9]))
    for output in (whole, part):
        assert collect(output) == 0
    tokens = {
        row["_ng_task_index"] * 10 + row["_ng_rollout_index"]: row["response"]["usage"] for row in read_rows(whole)
    }
    assert len(read_rows(part)) == 9
    for row in read_rows(part):
        assert row["response"]["usage"] == tokens[row["_ng_task_index"] * 10 + row["_ng_rollout_index"]]


def test_latency_and_concurrency_set_the_pace_and_the_order(collect: Collect, tmp_path: Path) -> None:
    """24 rollouts of 0.1 s, 4 at a time, take 0.6 s; with a spread they end in another order than they began."""
    output = tmp_path / "rollouts.jsonl"
    keys = write_work_list(output, demo_rows("geography", 8), 3)
    begun = time.monotonic()
    assert collect(output, "++simulate.latency_s=0.1") == 0
    assert 0.6 <= time.monotonic() - begun < 3
    output.write_bytes(b"")
    assert collect(output, "++simulate.latency_s=0.02", "++simulate.latency_sigma=1") == 0
    order = [(row["_ng_task_index"], row["_ng_rollout_index"]) for row in read_rows(output)]
    assert order != keys
    assert sorted(order) == keys


def test_answers_have_the_size_that_was_asked_for(collect: Collect, tmp_path: Path) -> None:
    output = tmp_path / "rollouts.jsonl"
    write_work_list(output, demo_rows("geography", 1), 2)
    assert collect(output, "++simulate.response_bytes=5000") == 0
    for row in read_rows(output):
        assert len(row["response"]["output"][0]["content"][0]["text"]) == 5000
