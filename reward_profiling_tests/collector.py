"""A collector under test: NeMo Gym itself or the stand-in, run as the processes that a job runs.

Promise: `running` starts `env start` in a session of its own, waits for `/readyz`, and leaves no process behind.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reward_profiling_tests.parts import REPOSITORY

STAND_IN = (sys.executable, "-m", "reward_profiling.simulate")
DEMO = REPOSITORY / "manifests" / "demo"
DEMO_CONFIGS = tuple(sorted((DEMO / "configs").glob("*.yaml")))
NO_POLICY = ("--model-url", "http://127.0.0.1:9/v1", "--model", "none", "--model-api-key", "none")
"""For the stand-in, which asks no policy, though configs refer to one."""

Key = tuple[int, int]


@dataclass(frozen=True)
class Collector:
    """How to call a Gym whose head server listens on `port`."""

    argv: tuple[str, ...]
    port: int
    directory: Path

    def command(self, output: Path, *arguments: str, routed: bool = True) -> list[str]:
        """The call that a job makes."""
        routing = ["+route_failures_to_sidecar=true"] if routed else []
        return [
            *(*self.argv, "eval", "run", "--no-serve", "--resume", "--input", "never-opened.jsonl"),
            *("--output", str(output), "--concurrency", "4", "--disable-aggregation"),
            *("+retain_results_in_memory=false", f"++head_server.port={self.port}"),
            *(f"hydra.run.dir={self.directory}", "hydra.output_subdir=null", *routing, *arguments),
        ]

    def collect(self, output: Path, *arguments: str, routed: bool = True) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        command = self.command(output, *arguments, routed=routed)
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    def start(self, output: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """Start it, to be killed by the test."""
        command = self.command(output, *arguments)
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def running(
    argv: tuple[str, ...], configs: Iterable[Path], directory: Path, *arguments: str, ready_within: float = 180
) -> Iterator[Collector]:
    """`env start` with these configs, ready; stopped, group and all, at the end."""
    directory.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [*argv, "env", "start", f"++head_server.port={port}", "++head_server.host=127.0.0.1", *arguments]
    command += [f"hydra.run.dir={directory}", "hydra.output_subdir=null"]
    for config in configs:
        command += ["--config", str(config)]
    environ = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    with (directory / "env_start.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=directory, env=environ, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _await_ready(process, port, time.monotonic() + ready_within, directory / "env_start.log")
        yield Collector(argv, port, directory)
    finally:
        _stop(process)


def status(port: int, path: str) -> int:
    """The HTTP status of a head server's route, 0 when nothing listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def write_work_list(output: Path, rows: Sequence[Mapping[str, Any]], repeats: int) -> list[Key]:
    """A shard as a sweep lays it out: the work list, and an empty output file; returns its keys in order."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.touch()
    keys = [(task, rollout) for task in range(len(rows)) for rollout in range(repeats)]
    lines = [
        json.dumps({**rows[task], "_ng_sweep_label": "demo", "_ng_task_index": task, "_ng_rollout_index": rollout})
        for task, rollout in keys
    ]
    beside(output, "materialized_inputs").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return keys


def beside(output: Path, name: str) -> Path:
    """Gym's file of that name beside `output`."""
    return output.with_name(f"{output.stem}_{name}.jsonl")


def demo_rows(label: str, count: int) -> list[dict[str, Any]]:
    """The first rows of one of the demo's datasets."""
    lines = (DEMO / f"{label}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:count]]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file that must consist of whole lines."""
    content = path.read_bytes()
    assert content == b"" or content.endswith(b"\n"), f"{path} ends in a torn line"
    return [json.loads(line) for line in content.splitlines()]


def keys_of(rows: Iterable[Mapping[str, Any]]) -> list[Key]:
    """The rollouts' keys, sorted."""
    return sorted((row["_ng_task_index"], row["_ng_rollout_index"]) for row in rows)


def _await_ready(process: subprocess.Popen[bytes], port: int, deadline: float, log: Path) -> None:
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if status(port, "/readyz") == 200:
            return
        time.sleep(0.05)
    raise AssertionError(f"env start is not ready (exit code {process.poll()}):\n{log.read_text()[-3000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=15)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=15)
