"""`++key=value` overrides of NeMo Gym's commands, which read them by Hydra's grammar (Gym contract 1).

Promise: a value arrives in Gym as it stands in the manifest: same type, same characters. What the grammar cannot say is
refused. References such as `${oc.env:NAME}` stay references; Gym resolves them.
"""

import math
import re
from collections.abc import Mapping

from reward_profiling.errors import LaunchError

_KEY = re.compile(r"[A-Za-z_][\w.-]*\Z", re.ASCII)
_LINE_BREAK = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BEFORE_QUOTE = re.compile(r'(\\*)("|\Z)')


def override(key: str, value: object) -> str:
    """`++key=value`: add or replace."""
    return f"++{_checked(key)}={literal(value, key)}"


def literal(value: object, key: str) -> str:
    """`value` in Hydra's grammar; `key` is named when it cannot be said."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return quoted(value, key)
        case list() | tuple():
            return "[" + ",".join(literal(item, key) for item in value) + "]"
        case Mapping():
            return "{" + ",".join(f"{_checked(str(name))}:{literal(item, key)}" for name, item in value.items()) + "}"
        case _:
            raise LaunchError(f"{value!r} cannot be passed to Gym as {key}", cure="write it as text or a finite number")


def quoted(text: str, key: str) -> str:
    """`text` in double quotes; a backslash counts only before a quote, and so do those in front of it."""
    if _LINE_BREAK.search(text):
        raise LaunchError(f"{text!r} cannot be passed to Gym as {key}", cure="write it in one line")
    return '"' + _BEFORE_QUOTE.sub(lambda found: found[1] * 2 + ('\\"' if found[2] else ""), text) + '"'


def _checked(key: str) -> str:
    if not _KEY.match(key):
        raise LaunchError(f"{key!r} cannot be an override's name", cure="use letters, digits, `_`, `-` and dots")
    return key
