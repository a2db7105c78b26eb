"""What a Slurm cluster offers: its partitions, and the accounts and qualities of service that this user may ask for.

Promise: facts that the cluster itself states, or None where it does not answer; never a guess, and never an error.
"""

import getpass
import os
from dataclasses import dataclass

from reward_profiling.errors import SchedulerUnknownError
from reward_profiling.scheduler.commands import run

_TIMEOUT_SECONDS = 15.0


@dataclass(frozen=True)
class Associations:
    """Accounts of the user, and the qualities of service that any of them allows."""

    accounts: frozenset[str]
    qos: frozenset[str]


def partitions() -> frozenset[str] | None:
    """Names of the cluster's partitions."""
    lines = _ask("sinfo", "--noheader", "--format=%R")
    return None if lines is None else frozenset(lines)


def associations() -> Associations | None:
    """What the accounting says of this user; None also where it knows nobody of that name."""
    lines = _ask(
        "sacctmgr",
        "--noheader",
        "--parsable2",
        "show",
        "associations",
        f"user={getpass.getuser()}",
        "format=account,qos",
    )
    if not lines:
        return None
    rows = [line.split("|") for line in lines]
    return Associations(
        frozenset(row[0] for row in rows), frozenset(name for row in rows for name in row[-1].split(",") if name)
    )


def _ask(*command: str) -> list[str] | None:
    try:
        answer = run(command, environment=os.environ, timeout=_TIMEOUT_SECONDS)
    except SchedulerUnknownError:
        return None
    if answer.code != 0:
        return None
    return [line.strip() for line in answer.stdout.splitlines() if line.strip()]
