"""Slurm's notations for a time limit and for a signal before it, as the local scheduler honours them too."""

import re
import signal
from dataclasses import dataclass

from reward_profiling.errors import LaunchError

_DAYS = re.compile(r"(\d+)-(\d+)(?::(\d+))?(?::(\d+))?")
_CLOCK = re.compile(r"(\d+)(?::(\d+))?(?::(\d+))?")
_NO_LIMIT = frozenset({"", "0", "infinite", "unlimited"})
_SIGNAL = re.compile(r"(?:([RB]+):)?([A-Za-z][A-Za-z0-9]*|\d+)(?:@(\d+))?")
_DEFAULT_LEAD = 60


@dataclass(frozen=True)
class EarlySignal:
    """`number` is sent `lead` seconds before the time limit, to the batch script alone."""

    number: int
    lead: int


def seconds(text: str) -> int | None:
    """The seconds of `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S`; None for no limit; LaunchError otherwise."""
    plain = text.strip().lower()
    if plain in _NO_LIMIT:
        return None
    if found := _DAYS.fullmatch(plain):
        days, hours, minutes, rest = (int(part or 0) for part in found.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + rest
    if found := _CLOCK.fullmatch(plain):
        parts = [int(part) for part in found.groups() if part is not None]
        if len(parts) < 3:  # the first of one or two numbers is minutes
            parts.insert(0, 0)
        hours, minutes, rest = (*parts, 0)[:3]
        return (hours * 60 + minutes) * 60 + rest
    raise LaunchError(f"{text!r} is no time limit", place="sbatch.time", cure="write it as days-hours:minutes:seconds")


def early_signal(text: str) -> EarlySignal | None:
    """The signal of `[B:]NAME_OR_NUMBER[@SECONDS]`; LaunchError when it is none.

    Without `B:` Slurm signals what srun started and not the script; here nothing is started by srun, hence None.
    """
    found = _SIGNAL.fullmatch(text.strip())
    if not found:
        raise LaunchError(f"{text!r} is no signal", place="sbatch.signal", cure="write it as B:USR1@60")
    target, name, lead = found.groups()
    try:
        number = (
            signal.Signals(int(name)) if name.isdigit() else signal.Signals["SIG" + name.upper().removeprefix("SIG")]
        )
    except (KeyError, ValueError):
        raise LaunchError(f"{name!r} is no signal", place="sbatch.signal", cure="write it as B:USR1@60") from None
    return EarlySignal(int(number), int(lead or _DEFAULT_LEAD)) if "B" in (target or "") else None
