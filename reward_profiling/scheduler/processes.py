"""Which processes of this machine are meant: identities that outlive a pid's reuse, and marks that children inherit.

Promise: a recorded process is never mistaken for a later one with the same pid, not even after a reboot, and a zombie
counts as dead. Reads Linux' /proc only.
"""

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_STATE, _START = 0, 19  # positions after the command's closing parenthesis, proc(5): fields 3 and 22


@dataclass(frozen=True)
class ProcessIdentity:
    """One process of one boot of one machine. `started` is in clock ticks since that boot."""

    host: str
    boot: str
    pid: int
    started: int

    @property
    def here(self) -> bool:
        """Whether this machine is the one that the process ran on; elsewhere nothing can be said of it."""
        return self.host == socket.gethostname()

    @property
    def of_this_boot(self) -> bool:
        """Whether the machine has not been restarted since."""
        return self.boot == _boot()

    @property
    def alive(self) -> bool:
        """Whether the process runs now. Ask only where it is `here`."""
        return self.of_this_boot and _started(self.pid) == self.started


def identify(pid: int) -> ProcessIdentity | None:
    """The identity of a running process, None when there is none (any more)."""
    started = _started(pid)
    return None if started is None else ProcessIdentity(socket.gethostname(), _boot(), pid, started)


def marked(name: str, value: str) -> tuple[int, ...]:
    """The pids of all living processes that were started with `name=value` in their environment."""
    wanted = os.fsencode(f"{name}={value}")
    return processes_with(lambda environment: wanted in environment)


def processes_with(chosen: Callable[[frozenset[bytes]], bool]) -> tuple[int, ...]:
    """The pids of all living processes whose initial environment (a set of `NAME=value`) is `chosen`."""
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        # A process may end while it is looked at, and those of other users cannot be read; neither is ours.
        with contextlib.suppress(OSError):
            environment = frozenset((entry / "environ").read_bytes().split(b"\0"))
            if chosen(environment) and _started(int(entry.name)) is not None:
                found.append(int(entry.name))
    return tuple(found)


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def identity_from_record(record: Mapping[str, object]) -> ProcessIdentity:
    """The identity that was written with `dataclasses.asdict`; raises KeyError or ValueError on anything else."""
    pid, started = record["pid"], record["started"]
    if not isinstance(pid, int) or not isinstance(started, int):
        raise ValueError("pid and started must be whole numbers")
    return ProcessIdentity(str(record["host"]), str(record["boot"]), pid, started)


def _boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> int | None:
    """The start time of a living process in clock ticks since boot; None for a dead one or a zombie."""
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) <= _START or fields[_STATE] in (b"Z", b"X", b"x"):
        return None
    return int(fields[_START])
