"""Values in Hydra's grammar."""

from typing import Any

import pytest

from reward_profiling.errors import LaunchError
from reward_profiling.launch.overrides import override


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (1e-9, "1e-09"),
        ("5", '"5"'),
        ("a=b, {c}", '"a=b, {c}"'),
        ('say "x"', r'"say \"x\""'),
        ("back\\slash", r'"back\slash"'),
        ("end\\", r'"end\\"'),
        ('\\"', r'"\\\""'),
        ("${oc.env:A}", '"${oc.env:A}"'),
        ([1, "a", None], '[1,"a",null]'),
        ({"a": {"b-c": [False]}}, "{a:{b-c:[false]}}"),
    ],
)
def test_a_value_keeps_its_type_and_its_characters(value: Any, text: str) -> None:
    assert override("x.y", value) == f"++x.y={text}"


@pytest.mark.parametrize(
    ("key", "value"),
    [("x y", 1), ("", 1), ("x", "a\nb"), ("x", float("nan")), ("x", {"a b": 1}), ("x", object())],
)
def test_what_the_grammar_cannot_say_is_refused(key: str, value: Any) -> None:
    with pytest.raises(LaunchError):
        override(key, value)
