"""Secrets are named, never written: which keys hold one, and which texts give one away.

Promise: a manifest that loads holds no secret that these rules can see, so that its snapshot, its settings table and
its lineage hold none either.
"""

import re
from collections.abc import Iterator
from typing import Any

from reward_profiling.manifest.problems import Path

_SECRET_KEY = re.compile(
    r"(?:^|[_\-.])(?:api_?key|access_key|secret_key|private_key|secret|password|passwd|credentials?)\Z"
    r"|(?:^|(?:^|[_\-.])(?:hf|hub|auth|access|api|bearer|refresh|github|gitlab|wandb)_)token\Z",
    re.IGNORECASE,
)
_TOKEN_VARIABLE = re.compile(r"[A-Z0-9_]*_TOKEN\Z")
"""`pad_token` in a config is a word of the model's; `X_TOKEN` as an environment variable is a secret."""

_PLACEHOLDERS = {"", "EMPTY", "dummy", "none", "unused", "not-needed"}
_REFERENCE = re.compile(r"\$\{[^{}]+\}\Z")
_OPTION = r"--(?:(?:[\w-]+-)?(?:api[_-]?key|secret|password)|(?:(?:hf|auth|access|api)[_-])?token)"
_IN_ARGUMENT = re.compile(rf"(?<!\S){_OPTION}[= ]+(?!\$)\S|://[^/\s:@]+:[^/\s@$]+@", re.IGNORECASE)
_ARGUMENT_NAME = re.compile(rf"{_OPTION}\Z", re.IGNORECASE)


def is_secret_key(key: object) -> bool:
    """True for names such as `api_key`, `openai_api_key`, `HF_TOKEN`, `password`."""
    return isinstance(key, str) and bool(_SECRET_KEY.search(key) or _TOKEN_VARIABLE.match(key))


def by_name(variable: str) -> str:
    """The reference that stands for the value of an environment variable: `${oc.env:NAME}`."""
    return f"${{oc.env:{variable}}}"


def written_secrets(value: Any, path: Path = ()) -> Iterator[Path]:
    """Paths below `value` at which a secret seems to be written out."""
    if isinstance(value, dict):
        for key, item in value.items():
            if is_secret_key(key) and _is_literal(item):
                yield (*path, key)
            else:
                yield from written_secrets(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            after_name = index > 0 and isinstance(value[index - 1], str) and _ARGUMENT_NAME.match(value[index - 1])
            if after_name and _is_literal(item):
                yield (*path, index)
            else:
                yield from written_secrets(item, (*path, index))
    elif isinstance(value, str) and _IN_ARGUMENT.search(value):
        yield path


def _is_literal(value: Any) -> bool:
    if isinstance(value, str):
        return value not in _PLACEHOLDERS and _REFERENCE.match(value) is None
    return isinstance(value, int | float) and not isinstance(value, bool)
