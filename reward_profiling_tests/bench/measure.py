"""What a process takes: time, CPU and the memory of it and all that it starts."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_SAMPLE_SECONDS = 0.1


@dataclass(frozen=True)
class Measurement:
    """What one process took. `mebibytes` is the peak of the memory of all processes together, shared pages once."""

    seconds: float
    cpu_seconds: float
    mebibytes: float

    def __str__(self) -> str:
        return f"{self.seconds:7.1f} s wall {self.cpu_seconds:7.1f} s CPU {self.mebibytes:7.0f} MiB"


def measure(command: list[str], directory: Path, environ: dict[str, str] | None = None) -> Measurement:
    """Run `command` in `directory`, its output in the file `log` there; `SystemExit` with its last words on failure."""
    log = directory / "log"
    started = time.perf_counter()
    with log.open("wb") as stream:
        process = subprocess.Popen(command, cwd=directory, env=environ, stdout=stream, stderr=stream)
        with _Memory(process.pid) as memory:
            _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} failed ({process.returncode}): {log.read_text()[-2000:]}")
    elapsed = time.perf_counter() - started
    largest = usage.ru_maxrss / 1024
    return Measurement(elapsed, usage.ru_utime + usage.ru_stime, max(largest, memory.peak / 1024))


class _Memory:
    """Samples the memory of a process and its descendants, in KiB."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "_Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            self.peak = max(self.peak, _tree(self._pid))


def _tree(pid: int) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            total += _tree(int(child))
    return total
