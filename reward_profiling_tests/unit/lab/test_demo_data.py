"""The demo's datasets: every row names a declared agent and holds an answer that its verifier would accept."""

import itertools
import json
import re

import pytest

from reward_profiling.simulate.config import Surroundings, load, servers
from reward_profiling_tests.collector import DEMO_CONFIGS, demo_rows

LABELS = ("geography", "arithmetic", "scheduling")


@pytest.mark.parametrize("label", LABELS)
def test_rows_name_the_agent_of_their_environment_and_are_distinct(label: str) -> None:
    rows = demo_rows(label, 1000)
    assert 20 <= len(rows) <= 40
    assert {row["agent_ref"]["name"] for row in rows} == {f"{label}_agent"}
    assert len({json.dumps(row["responses_create_params"]) for row in rows}) == len(rows)


def test_the_configs_declare_a_verifier_and_an_agent_per_environment_and_one_model() -> None:
    values = {"policy_base_url": "x", "policy_model_name": "x", "policy_api_key": "x"}
    running = servers(load(map(str, DEMO_CONFIGS), values, Surroundings((), {})))
    assert {server.instance for server in running} == {
        "policy_model",
        *(f"{label}{part}" for label in LABELS for part in ("", "_agent", "_environment_server")),
    }


def test_geography_asks_for_a_letter_among_its_options() -> None:
    for row in demo_rows("geography", 1000):
        text = row["responses_create_params"]["input"][0]["content"]
        offered = dict(re.findall(r"^([A-D]): (.+)$", text, re.MULTILINE))
        assert offered == {letter: name for option in row["options"] for letter, name in option.items()}
        assert row["expected_answer"] in offered


def test_arithmetic_expects_the_result() -> None:
    for row in demo_rows("arithmetic", 1000):
        text = row["responses_create_params"]["input"][0]["content"]
        left, sign, right = re.findall(r"(\d+) ([-+*]) (\d+)", text)[0]
        result = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[sign](int(left), int(right))
        assert row["expected_answer"] == str(result)


def test_scheduling_shows_a_calendar_that_keeps_every_wish() -> None:
    for row in demo_rows("scheduling", 1000):
        conversation = row["responses_create_params"]["input"]
        events = json.loads(conversation[-2]["content"])
        spans = [(_minute(event["start_time"]), event["duration"]) for event in events]
        assert all(start + minutes <= following for (start, minutes), (following, _) in itertools.pairwise(spans))
        wishes = re.findall(r"(after|before|between) ([\d:]+)(?: and ([\d:]+))?\.", _asked(conversation))
        assert len(wishes) == len(events) == len(row["exp_cal_state"])
        for (start, minutes), (kind, first, second) in zip(spans, wishes, strict=True):
            earliest = _minute(first) if kind != "before" else 600
            latest = {"after": 960, "before": _minute(first)}.get(kind) or _minute(second)
            assert earliest <= start
            assert start + minutes <= latest


def _asked(conversation: list[dict[str, str]]) -> str:
    return "\n".join(message["content"] for message in conversation if message["role"] == "user")


def _minute(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)
