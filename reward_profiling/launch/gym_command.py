"""Which NeMo Gym a job runs: the one that was asked for, the one on PATH, or the collector stand-in.

Promise: found and checked before anything is rendered; a relative name becomes an absolute path, so that a job finds
the same program from another folder. Its version is asked inside the job, where it runs.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reward_profiling.errors import LaunchError

VARIABLE = "REWARD_PROFILING_GYM"
SIMULATED = "simulated"
_CURE = f"set {VARIABLE} or pass --gym: the path of a `gym` executable, or `{SIMULATED}` for the collector stand-in"


@dataclass(frozen=True)
class GymCommand:
    """How to start Gym: `argv` is followed by `env start` or `eval run`."""

    argv: tuple[str, ...]
    simulated: bool = False

    @classmethod
    def find(cls, environ: Mapping[str, str], option: str | None = None) -> "GymCommand":
        """The command line's choice, else the environment's, else `gym` on PATH; `LaunchError` when there is none."""
        wanted = option or environ.get(VARIABLE) or "gym"
        if wanted == SIMULATED:
            return cls((sys.executable, "-P", "-m", "reward_profiling.simulate"), simulated=True)
        path = environ.get("PATH")
        whole = shutil.which(wanted, path=path)
        if whole is not None:
            return cls((os.path.abspath(whole),))  # noqa: PTH100 - resolving links would leave a virtual environment
        words = _words(wanted)
        program = shutil.which(words[0], path=path) if len(words) > 1 else None
        if program is None:
            where = f"{wanted} is no executable" if wanted != "gym" else "there is no `gym` on PATH"
            raise LaunchError(where, cure=_CURE)
        return cls((str(Path(program).absolute()), *words[1:]))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise LaunchError(f"{text} is no command: {error}", cure=_CURE) from error
