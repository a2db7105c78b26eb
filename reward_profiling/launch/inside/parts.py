"""The parts of a job: processes that the job script starts by name, each with a session and a log of its own.

Promise: a part that was started is gone when its `running` block is left, with everything that it started in turn: it
is asked to end in the way that it understands, and after a grace its whole session is killed. If the supervisor itself
is killed, the kernel asks its parts to end.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.inside import tied
from reward_profiling.launch.inside.ending import Ending
from reward_profiling.scheduler.processes import send

_PROC = Path("/proc")
_KILLED_WITHIN = 5.0
_LAST_LINES = 16_384  # bytes of a log in which its last words are looked for
_LONGEST_WORDS = 300


@dataclass(frozen=True)
class PartKind:
    """A part's name in the job script, the signal that asks it to end, and the seconds that it may take."""

    name: str
    goodbye: signal.Signals
    grace: float


# Together they must end within Slurm's KillWait, 30 s by default.
POLICY = PartKind("policy", signal.SIGTERM, 8.0)
GYM_SERVERS = PartKind("gym-servers", signal.SIGINT, 8.0)
COLLECTOR = PartKind("collector", signal.SIGTERM, 5.0)


@dataclass(frozen=True)
class Part:
    """A started part."""

    kind: PartKind
    process: asyncio.subprocess.Process
    log: Path

    @property
    def session(self) -> int:
        """The id of its session, which is its process id."""
        return self.process.pid

    @property
    def exit_code(self) -> int | None:
        """As a shell says it: 128 + signal for a killed process; None while it runs."""
        code = self.process.returncode
        return code if code is None or code >= 0 else 128 - code

    async def wait(self) -> int:
        """Its exit code, when it has ended."""
        await self.process.wait()
        return self.exit_code or 0

    async def ending(self, reason: Reason) -> Ending:
        """A watcher: the job ends with `reason` when this part does."""
        code = await self.wait()
        return Ending(reason, f"{self.kind.name} ended with exit code {code}: {self.last_words()}")

    def last_words(self) -> str:
        """The last line of its log that speaks of an error, else the last one."""
        return last_words(self.log)


@contextlib.asynccontextmanager
async def running(
    kind: PartKind, script: Path, log: Path, environment: Mapping[str, str], exit_codes: dict[str, int]
) -> AsyncIterator[Part]:
    """A part of `script` for as long as the block lasts; its exit code is put down in `exit_codes`."""
    with log.open("ab") as stream:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", tied.__file__, str(int(kind.goodbye)), str(os.getpid()), "--"),
            *("bash", str(script), kind.name),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=dict(environment),
            start_new_session=True,
        )
    part = Part(kind, process, log)
    try:
        yield part
    finally:
        await _stop(part)
        exit_codes[kind.name] = part.exit_code or 0


async def _stop(part: Part) -> None:
    if part.process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            part.process.send_signal(part.kind.goodbye)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(part.process.wait(), part.kind.grace)
    deadline = asyncio.get_running_loop().time() + _KILLED_WITHIN
    while (left := session_members(part.session)) and asyncio.get_running_loop().time() < deadline:
        send(left, signal.SIGKILL)
        await asyncio.sleep(0.05)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(part.process.wait(), _KILLED_WITHIN)


def session_members(session: int) -> list[int]:
    """The living processes of a session; a process group would miss those that made a group of their own."""
    members = []
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                pid = int(entry.name)
                if os.getsid(pid) == session and not _is_zombie(entry):
                    members.append(pid)
    return members


def _is_zombie(process: Path) -> bool:
    try:
        return (process / "stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return True


def last_words(log: Path) -> str:
    """The last line of `log` that speaks of an error, else its last one, shortened."""
    with log.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _LAST_LINES))
        text = stream.read().decode("utf-8", "replace")
    lines = [line for each in text.splitlines() if (line := " ".join(each.split()))]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["its log is empty"])[-1][:_LONGEST_WORDS]
