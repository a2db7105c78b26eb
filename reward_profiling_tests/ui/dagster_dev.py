"""A real `dagster dev` on this checkout, in folders of its own.

Promise: it is up when `raised` yields, with the code location loaded; when the block ends nothing that it started is
left, neither its own processes nor the jobs of the local scheduler.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

import orjson

from reward_profiling.scheduler.processes import processes_with, send
from reward_profiling_tests.parts import REPOSITORY

DEADLINE = 120.0
_GRACE = 20.0
_LOCATION = """{ workspaceOrError { ... on Workspace { locationEntries {
    name loadStatus locationOrLoadError { __typename ... on PythonError { message } } } } } }"""


@dataclass(frozen=True)
class DagsterDev:
    """A running UI: its address, and the folder of its home (`home`), its sweeps (`sweeps`) and its log."""

    url: str
    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "dagster.log"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def ask(self, query: str) -> dict[str, Any]:
        """What the GraphQL endpoint, which the UI itself asks, answers."""
        body = orjson.dumps({"query": query})
        request = Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        # A proxy of the environment is not for this machine's own addresses.
        with build_opener(ProxyHandler({})).open(request, timeout=30) as response:
            answer: dict[str, Any] = orjson.loads(response.read())
        assert "errors" not in answer, answer
        return answer["data"]

    def wait_for(self, probe: Callable[[], Any], what: str, deadline: float = DEADLINE) -> Any:
        """What `probe` gives, once it is truthy."""
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            if found := probe():
                return found
            time.sleep(0.5)
        raise AssertionError(f"{what}: not within {deadline:g} s\n{self.last_lines()}")

    def last_lines(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]


@contextlib.contextmanager
def raised(folder: Path) -> Iterator[DagsterDev]:
    """`dagster dev` with the stand-in and the local scheduler."""
    dev = DagsterDev(f"http://127.0.0.1:{_free_port()}", folder)
    dev.home.mkdir()
    shutil.copy(REPOSITORY / "dagster.yaml", dev.home)
    process = _start(dev)
    try:
        dev.wait_for(lambda: _loaded(dev, process), "loading the code location")
        yield dev
    finally:
        _end(dev)
        process.wait(DEADLINE)


def _start(dev: DagsterDev) -> "subprocess.Popen[bytes]":
    port = dev.url.rpartition(":")[2]
    settings = {
        "DAGSTER_HOME": str(dev.home),
        "REWARD_PROFILING_MANIFESTS_DIR": str(REPOSITORY / "manifests"),
        "REWARD_PROFILING_SWEEPS_DIR": str(dev.folder / "sweeps"),
        "REWARD_PROFILING_SCHEDULER": "local",
        "REWARD_PROFILING_GYM": "simulated",
    }
    with dev.log.open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dagster", "dev", "--host", "127.0.0.1", "--port", port],
            cwd=REPOSITORY,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _loaded(dev: DagsterDev, process: "subprocess.Popen[bytes]") -> bool:
    assert process.poll() is None, f"dagster dev has ended\n{dev.last_lines()}"
    try:
        entries = dev.ask(_LOCATION)["workspaceOrError"]["locationEntries"]
    except (URLError, ConnectionError, TimeoutError):
        return False  # it does not listen yet
    if not entries or any(entry["loadStatus"] == "LOADING" for entry in entries):
        return False
    assert all(entry["locationOrLoadError"]["__typename"] == "RepositoryLocation" for entry in entries), entries
    return True


def _end(dev: DagsterDev) -> None:
    """End every process that was started with one of this UI's folders in its environment."""
    end, mark = time.monotonic() + _GRACE, f"{dev.folder}{os.sep}".encode()
    while started := processes_with(lambda environment: any(mark in each for each in environment)):
        # Ignored where the tests themselves ignore SIGINT, as in a shell's background: Dagster treats both alike.
        send(started, signal.SIGTERM if time.monotonic() < end else signal.SIGKILL)
        time.sleep(0.5)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
