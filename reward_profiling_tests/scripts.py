"""Running a rendered job script with stubs in the place of the programs that it starts."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reward_profiling.launch.script import render_job
from reward_profiling.launch.settings import JobSettings
from reward_profiling.sweep.layout import SweepDir

# Writes down how it was called: folder, environment and arguments, NUL-separated.
_STUB = """\
#!/bin/bash
{ printf '%s\\0' "$PWD"; printf '%s\\0' "$@"; } > "$RP_TEST_CALL"
cat /proc/self/environ > "$RP_TEST_CALL.environ"
"""


@dataclass(frozen=True)
class Call:
    """How a stub was called."""

    folder: Path
    arguments: list[str]
    environment: dict[str, str]


class Stubs:
    """Programs that only write down how they were called, in a folder that comes first on PATH."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.script = folder / "job.sh"
        folder.mkdir(parents=True)

    def program(self, name: str) -> Path:
        """A stub called `name`."""
        path = self._folder / name
        path.write_text(_STUB)
        path.chmod(0o755)
        return path

    def try_run(
        self, sweep: SweepDir, settings: JobSettings, part: str, *, python: str | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        """Render attempt 1 at the sweep's first shard and run one part of it."""
        interpreter = python or str(self.program("python"))
        self.script.write_text(render_job(sweep.shard(0), sweep, 1, settings, python=interpreter))
        base = {"PATH": f"{self._folder}:/usr/bin:/bin", "RP_TEST_CALL": str(self._folder / "call")}
        return subprocess.run(
            ["bash", str(self.script), part],
            env=base | environment,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def run(self, sweep: SweepDir, settings: JobSettings, part: str, **environment: str) -> Call:
        """The call that a part ends in."""
        call = self._folder / "call"
        call.unlink(missing_ok=True)
        done = self.try_run(sweep, settings, part, **environment)
        assert done.returncode == 0, done.stderr
        folder, *arguments = _split(call)
        pairs = (text.partition("=") for text in _split(Path(f"{call}.environ")))
        return Call(Path(folder), arguments, {name: value for name, _, value in pairs})


def arguments_of(arguments: Sequence[str], option: str) -> str:
    """What stands after `option`."""
    return arguments[arguments.index(option) + 1]


def _split(path: Path) -> list[str]:
    return [os.fsdecode(text) for text in path.read_bytes().split(b"\0")[:-1]]
