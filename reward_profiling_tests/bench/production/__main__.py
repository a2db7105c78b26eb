"""A sweep with the counts of a real one and short rows: every step of its life on this machine, timed.

    python -m reward_profiling_tests.bench.production [--tasks 726121] [--directory DIR]

36 environments, 726,121 tasks, 8 repeats, 16 shards: 5,808,968 rollouts. Needs 20 GB of disk.
"""

import argparse
import tempfile
from pathlib import Path

from reward_profiling_tests.bench.plane import data
from reward_profiling_tests.bench.plane.steps import save_size
from reward_profiling_tests.bench.step import Step, step

_PLANE = "reward_profiling_tests.bench.plane.steps"
_OWN = "reward_profiling_tests.bench.production.steps"


def run(directory: Path, size: data.Size) -> None:
    """All steps, each in a process of its own, printed as they end, and their sum."""
    save_size(directory, size)
    taken: list[Step] = []

    def timed(name: str, module: str, function: str) -> Step:
        taken.append(step(module, function, directory))
        print(f"{name:22} {taken[-1]}")
        return taken[-1]

    tasks = step(_OWN, "write_datasets", directory).result
    print(f"{size.entries} entries, {tasks:,} tasks x {size.repeats}, {size.shards} shards")
    work = timed("materialize", _PLANE, "materialize_ours").result
    rollouts = timed("simulated collection", _OWN, "collect").result
    print(f"{work / 1e9:.2f} GB of work lists, {rollouts / 1e9:.2f} GB of rollouts")
    counts = timed("first look", _OWN, "look").result
    timed("second look", _OWN, "look")
    timed("profile", _PLANE, "profile")
    timed("profile again", _PLANE, "profile")
    seconds, mebibytes = sum(each.seconds for each in taken), max(each.mebibytes for each in taken)
    print(f"{counts}")
    print(f"{seconds / 60:.1f} min in all, {mebibytes:.0f} MiB at most")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m reward_profiling_tests.bench.production")
    parser.add_argument("--tasks", type=int, default=726_121, help="of all entries")
    parser.add_argument("--directory", type=Path, help="where the sweep goes; a temporary directory by default")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="reward_profiling_bench_") as name:
        run(Path(name), data.Size(entries=36, tasks=options.tasks, repeats=8, shards=16, row_bytes=0))


if __name__ == "__main__":
    main()
