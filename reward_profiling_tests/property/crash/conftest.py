"""The server of children, and the random walk's dice."""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from reward_profiling_tests.memory import memory

pytest.register_assert_rewrite("reward_profiling_tests.property.crash.walk")


@dataclass(frozen=True)
class Ended:
    """How a child ended; `events` is None when it was killed."""

    end: str
    text: str
    events: int | None
    seconds: float


class Children:
    """Runs operations on one folder in processes of their own."""

    def __init__(self, server: "subprocess.Popen[bytes]", folder: Path) -> None:
        self.server, self.folder = server, folder

    def together(self, *asked: dict[str, Any]) -> list[Ended]:
        """Run several at the same time."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(orjson.dumps([{"folder": str(self.folder), **each} for each in asked]) + b"\n")
        self.server.stdin.flush()
        return [Ended(**each) for each in orjson.loads(self.server.stdout.readline())]

    def run(self, operation: str, arguments: dict[str, Any], **limits: Any) -> Ended:
        """Run one; it must end well unless `limits` say how it is to end otherwise."""
        (ended,) = self.together({"operation": operation, "arguments": arguments, **limits})
        assert limits or ended.end == "done", ended.text
        assert ended.end != "crashed", ended.text
        return ended


@pytest.fixture(scope="session")
def server() -> Iterator["subprocess.Popen[bytes]"]:
    """A warm process that forks."""
    few_threads = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "reward_profiling_tests.property.crash.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **few_threads},
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def children(server: "subprocess.Popen[bytes]") -> Iterator[Children]:
    """Children that work on a folder of this test."""
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        yield Children(server, Path(folder))


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Seeded by the test's own name."""
    return random.Random(request.node.name)
