"""A clean clone of what is committed, with an environment of its own, as a newcomer has it."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from reward_profiling_tests.parts import REPOSITORY

_OURS = ("REWARD_PROFILING_", "GYM_ENV_START_", "DAGSTER_", "SLURM_", "PYTEST_")


@dataclass(frozen=True)
class Clone:
    """A checkout in a folder of its own."""

    path: Path

    def environ(self, **more: str) -> dict[str, str]:
        """The environment of a shell in which the clone's virtual environment is active, with nothing of ours set."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        return {**kept, "PATH": f"{self.path}/.venv/bin:{kept['PATH']}", **more}

    def shell(self, script: str, **more: str) -> str:
        """Run a script as a person types it, and stop at the first command that fails; returns all that was printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.path,
            env=self.environ(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{script}\nended with {done.returncode}:\n{done.stdout}"
        return done.stdout


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """What is committed, cloned; its environment is made by the first `make`."""
    path = tmp_path_factory.mktemp("newcomer") / "reward_profiling"
    subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(path)], check=True)
    return Clone(path)


def blocks(document: str) -> list[str]:
    """The shell blocks of a document, in order, without their comments."""
    text = (REPOSITORY / document).read_text()
    found = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"\s+#.*", "", block) for block in found]
