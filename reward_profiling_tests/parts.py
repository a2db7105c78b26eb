"""Real parts that a lane needs: found, or a skip that says what to install; in CI a missing part fails."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def missing(part: str, cure: str) -> NoReturn:
    """Skip the running test because `part` is absent, or fail where every lane is required."""
    message = f"{part} is not here; {cure}"
    if os.environ.get("REWARD_PROFILING_REQUIRE_LANES") == "1":
        pytest.fail(message)
    pytest.skip(message)


def require(program: str, cure: str) -> Path:
    """The path of `program`, looked up on PATH and in the system's administration folders."""
    search = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/sbin"])
    found = shutil.which(program, path=search)
    if found is None:
        missing(program, cure)
    return Path(found)
