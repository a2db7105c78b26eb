"""Gym's `key=value` arguments (Gym contract 1), as one flat mapping of dotted keys to values.

Promise: what Gym refuses is refused here with the same exit code 1: a bare `key=value` outside `hydra.*`, the same
`+key` twice (a flag counts as one), and unquoted characters that its grammar does not take. Keys that nobody knows are
accepted silently, as there.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from reward_profiling.errors import RewardProfilingError

_OVERRIDE = re.compile(r"(\+{0,2})([A-Za-z_][\w./@-]*)=(.*)\Z", re.DOTALL)
_SAFE_PATH = re.compile(r"[A-Za-z0-9 _\-./\\*?@+:$%|]+\Z")
_NOT_TEXT = re.compile(r"[-+]?(\d[\d_]*)?\.?\d*(e[-+]?\d+)?\Z|true\Z|false\Z|null\Z", re.IGNORECASE)


def parse(arguments: Iterable[str], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `flags` (by Gym's key for each) and of the overrides, the `++` ones last.

    Raises `RewardProfilingError` as Gym exits with 1, `BadInputError` never: what is no override at all is the caller's
    usage error.
    """
    added = dict(flags)
    replaced: dict[str, Any] = {}
    for argument in arguments:
        found = _OVERRIDE.match(argument)
        if found is None:
            raise RewardProfilingError("this is no key=value", place=argument)
        plus, key, text = found.groups()
        if plus == "++":
            replaced[key] = value(text)
        elif plus == "+" and key not in added:
            added[key] = value(text)
        elif plus == "+":
            raise RewardProfilingError("this key is given more than once", place=argument, cure=f"pass ++{key}= alone")
        elif not key.startswith("hydra."):
            raise RewardProfilingError("no such key to replace", place=argument, cure=f"pass ++{argument}")
    return added | replaced


def value(text: str) -> Any:
    """A number, boolean, null, JSON list or object, or else text; quotes around it are taken off."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return orjson.loads(text.lower() if text.lower() in {"true", "false", "null"} else text)
    except orjson.JSONDecodeError:
        return text


def path_text(flag: str, text: str) -> str:
    """The path in a flag's argument: quoted inside the argument, or of safe characters only."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r'\\(["\\])', r"\1", text[1:-1])
    if not _SAFE_PATH.match(text) or _NOT_TEXT.match(text):
        raise RewardProfilingError(
            f"{text!r} is not read as a path", place=flag, cure="put double quotes inside the argument"
        )
    return text


def section(settings: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The part of a flat mapping below `prefix`, one level: `a.b` and `a: {b: …}` are the same."""
    nested = settings.get(prefix)
    found = dict(nested) if isinstance(nested, dict) else {}
    for key, content in settings.items():
        if key.startswith(prefix + "."):
            head, _, tail = key.removeprefix(prefix + ".").partition(".")
            if tail:
                found[head] = {**(found.get(head) or {}), tail: content}
            else:
                found[head] = content
    return found
