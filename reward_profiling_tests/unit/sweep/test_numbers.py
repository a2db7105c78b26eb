"""The numeric part of a rollout row: what is kept, what wins, in which order (Gym contract 6.2, 6.4, 6.5)."""

import json
from typing import Any

import orjson
import pytest

from reward_profiling.sweep.numbers import RolloutNumbers, numeric_record, read_numbers, usage_of


def _numbers(**row: Any) -> RolloutNumbers:
    return read_numbers(numeric_record(orjson.loads(orjson.dumps(row))))


def _usage(**usage: Any) -> dict[str, Any]:
    return {"usage": usage}


def _text(value: Any) -> str:
    # Text shows what equality of dicts hides: key order, 1 against 1.0 against true, and -0.0.
    return json.dumps(value)


@pytest.mark.parametrize(
    ("row", "columns", "info"),
    [
        pytest.param(
            {"reward": 1.0, "total": 5, "response": _usage(total=None)},
            '{"reward": 1.0}',
            '{"reward": 1.0, "total": 5}',
            id="a null in usage hides a top-level number from statistics only",
        ),
        pytest.param(
            {"reward": 1.0, "total": 5, "response": _usage(total=7)},
            '{"reward": 1.0, "total": 7}',
            '{"reward": 1.0, "total": 5}',
            id="usage wins in statistics, top-level in infos",
        ),
        pytest.param(
            {"x": "a", "reward": 1.0, "y": 2, "response": _usage(x=7, z=1)},
            '{"x": 7, "reward": 1.0, "y": 2, "z": 1}',
            '{"reward": 1.0, "x": 7, "z": 1, "y": 2}',
            id="a replaced key keeps its place even when it was no number",
        ),
        pytest.param(
            {"reward": 1.0, "response": _usage(reward=True, _h=3, rollout_id=4)},
            '{"reward": 1, "rollout_id": 4}',
            '{"reward": 1, "_h": 3, "rollout_id": 4}',
            id="usage reward replaces the reward; underscore names count in infos only",
        ),
        pytest.param(
            {"reward": True, "ok": False, "response": _usage(c=True)},
            '{"reward": 1, "ok": 0, "c": 1}',
            '{"reward": true, "c": 1, "ok": 0}',
            id="booleans are 0 and 1 but the raw reward stays",
        ),
        pytest.param({"reward": "1.0"}, "{}", '{"reward": "1.0"}', id="a string is no number"),
        pytest.param({"reward": None}, "{}", '{"reward": null}', id="a null reward is kept raw"),
        pytest.param({"reward": {"a": 1}}, "{}", '{"reward": {"a": 1}}', id="an object reward is kept raw"),
        pytest.param({"score": 2}, '{"score": 2}', '{"score": 2}', id="no reward at all"),
        pytest.param({"_x": 1, "reward": 0}, '{"reward": 0}', '{"reward": 0}', id="underscore names are skipped"),
        pytest.param(
            {"reward": 1.0, "response": 0}, '{"reward": 1.0, "response": 0}', '{"reward": 1.0}', id="response 0"
        ),
        pytest.param({"reward": -0.0}, '{"reward": -0.0}', '{"reward": -0.0}', id="minus zero survives"),
        pytest.param(
            {"reward": 18446744073709551615, "f": 1e-9},
            '{"reward": 18446744073709551615, "f": 1e-09}',
            '{"reward": 18446744073709551615, "f": 1e-09}',
            id="64-bit ints stay ints",
        ),
        pytest.param(
            {"reward": 1, "list": [1], "nested": {"a": 1}, "text": "2", "none": None},
            '{"reward": 1}',
            '{"reward": 1}',
            id="lists, objects, strings and nulls are skipped",
        ),
    ],
)
def test_columns_and_info(row: dict[str, Any], columns: str, info: str) -> None:
    numbers = _numbers(**row)
    assert _text(numbers.columns()) == columns
    assert _text(numbers.info()) == info


@pytest.mark.parametrize(
    ("value", "masked"),
    [(True, True), (1, True), ("yes", True), (False, False), (0, False), ("", False), (None, False)],
)
def test_mask_goes_by_truth_and_leaves_no_column(value: Any, masked: bool) -> None:
    numbers = _numbers(reward=1.0, mask_sample=value)
    assert numbers.masked is masked
    assert _text(numbers.columns()) == '{"reward": 1.0}'


def test_a_usage_number_called_mask_sample_is_an_ordinary_column() -> None:
    numbers = _numbers(reward=1.0, mask_sample=False, response=_usage(mask_sample=5))
    assert not numbers.masked
    assert _text(numbers.columns()) == '{"reward": 1.0, "mask_sample": 5}'


@pytest.mark.parametrize("response", [None, {}, {"usage": None}, {"usage": {}}, {"usage": 0}, 0, ""])
def test_absent_usage_is_empty(response: Any) -> None:
    assert usage_of({"response": response}) == {}


@pytest.mark.parametrize("response", ["text", 5, [1], {"usage": [1]}, {"usage": "x"}])
def test_usage_that_is_no_object_is_told_apart_and_never_fails(response: Any) -> None:
    row = {"reward": 1.0, "response": response}
    assert usage_of(row) is None
    assert _numbers(**row).info()["reward"] == 1.0


def test_a_record_holds_nothing_of_the_answer() -> None:
    row = {"reward": 1.0, "response": {"output": ["x" * 5000], "usage": {"input_tokens": 3}}, "explanation": "y" * 500}
    assert numeric_record(row) == b'[false,{"reward":1.0},{"input_tokens":3}]'
