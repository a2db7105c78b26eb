"""One step of a benchmark as a process of its own, so that its time, CPU and memory are its own.

python -m reward_profiling_tests.bench.step MODULE FUNCTION DIRECTORY
"""

import importlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from reward_profiling_tests.bench.measure import measure

_RESULT = "step.json"


@dataclass(frozen=True)
class Step:
    """What a step took, its imports left out, and what it gave back. `mebibytes` is the peak of the whole process."""

    seconds: float
    cpu_seconds: float
    mebibytes: float
    result: Any

    def __str__(self) -> str:
        return f"{self.seconds:8.2f} s wall {self.cpu_seconds:8.2f} s CPU {self.mebibytes:6.0f} MiB"


def step(module: str, function: str, directory: Path) -> Step:
    """Run `module.function(directory)`, which must give back what JSON can hold."""
    repository = Path(__file__).parent.parent.parent
    command = [sys.executable, "-m", "reward_profiling_tests.bench.step", module, function, str(directory)]
    whole = measure(command, directory, {**os.environ, "PYTHONPATH": str(repository)})
    found = orjson.loads((directory / _RESULT).read_bytes())
    return Step(found["seconds"], found["cpu_seconds"], whole.mebibytes, found["result"])


def main() -> None:
    module, function, name = sys.argv[1:]
    directory = Path(name)
    work = getattr(importlib.import_module(module), function)
    started, before = time.perf_counter(), os.times()
    result = work(directory)
    seconds, after = time.perf_counter() - started, os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    found = {"seconds": seconds, "cpu_seconds": cpu, "result": result}
    (directory / _RESULT).write_bytes(orjson.dumps(found))


if __name__ == "__main__":
    main()
