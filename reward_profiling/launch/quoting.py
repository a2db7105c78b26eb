"""From a value to text that a job script may hold: no text of a manifest can become shell, or an option of sbatch.

Promise: each function gives exactly one word (one line for `comment`) whatever it is given, or raises `LaunchError`.
In templates every expression goes through `shell_word` by itself; only what these functions made (`Verbatim`) does not.
"""

import re
import shlex
from pathlib import Path

from reward_profiling.errors import LaunchError

_UNWRITABLE = re.compile(r"[\x00\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PLAIN_OPTION = re.compile(r"[A-Za-z0-9@%+=:,./_\[\]-]+\Z")


class Verbatim(str):
    """Text that is fit for the script as it stands."""

    __slots__ = ()


def shell_word(value: object) -> str:
    """`value` as one word of bash that is expanded to exactly itself."""
    if isinstance(value, Verbatim):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float | Path):
        raise TypeError(f"{type(value).__name__} has no place in a script")
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    if _UNWRITABLE.search(text):
        raise LaunchError(f"{text!r} cannot be passed to a program", cure="remove its unprintable characters")
    return shlex.quote(text)


def comment(value: object) -> Verbatim:
    """`value` as part of a comment: in one line."""
    return Verbatim(_CONTROL.sub(" ", str(value)))


def expansion(variable: str) -> Verbatim:
    """One word that bash expands to the value of an environment variable, which must be set."""
    if not _VARIABLE.match(variable):
        raise LaunchError(f"{variable!r} is no name of a variable", cure="use letters, digits and `_`")
    return Verbatim('"${' + variable + ':?is not set}"')


def sbatch_option(name: str, value: str | None) -> Verbatim:
    """One option of an `#SBATCH` line; None is a flag.

    sbatch splits such a line at blanks, ends it at `#`, and takes double quotes and backslashes as a shell does.
    """
    if value is None:
        return Verbatim(f"--{name}")
    if _CONTROL.search(value):
        raise LaunchError(f"{value!r} cannot be sbatch's --{name}", cure="write it in one line")
    if not _PLAIN_OPTION.match(value):
        value = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return Verbatim(f"--{name}={value}")
