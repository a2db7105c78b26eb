"""Running one scheduler command on this machine.

Promise: a command is given its arguments as a list, never through a shell, and an end: what does not answer in time is
killed and reported as unknown.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reward_profiling.errors import SchedulerUnknownError

_NOT_FOUND = 127  # as a shell would say it


@dataclass(frozen=True)
class Answer:
    """What a command said. `stderr_line` is the first line of its complaint."""

    command: str
    code: int
    stdout: str
    stderr: str

    @property
    def found(self) -> bool:
        """Whether there is such a command at all."""
        return self.code != _NOT_FOUND

    @property
    def stderr_line(self) -> str:
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return lines[0] if lines else f"exit code {self.code} without a word"

    def unknown(self, problem: str | None = None) -> SchedulerUnknownError:
        """The error for an answer that tells nothing."""
        return SchedulerUnknownError(problem or self.stderr_line, place=self.command, cure="asked again later")


def run(command: Sequence[str], *, environment: Mapping[str, str], timeout: float) -> Answer:
    """Run `command` with exactly `environment`; raises SchedulerUnknownError when `timeout` seconds do not suffice."""
    name = command[0]
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError:
        return Answer(name, _NOT_FOUND, "", "no such command")
    except subprocess.TimeoutExpired:
        raise SchedulerUnknownError(f"no answer within {timeout:g} s", place=name, cure="asked again later") from None
    except OSError as error:
        raise SchedulerUnknownError(str(error.strerror or error), place=name, cure="asked again later") from error
    return Answer(name, done.returncode, done.stdout, done.stderr)
