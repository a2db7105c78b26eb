"""Speed and memory of the data plane, as ratios to what `dd` writes and to a straightforward implementation.

    python -m reward_profiling_tests.bench.plane [--tasks 2000] [--directory DIR]

Eight entries of TASKS tasks, 8 repeats of 25 KB, 4 shards: 3.2 GB of work lists and as much of rollouts. Needs 25 GB of
disk. `dd` is measured before and after each step it is compared with, for a shared disk is never equally fast.
"""

import argparse
import tempfile
from pathlib import Path

from reward_profiling_tests.bench.disk import dd
from reward_profiling_tests.bench.plane import data, steps
from reward_profiling_tests.bench.step import Step, step


class Bench:
    """One run in one directory."""

    def __init__(self, directory: Path, size: data.Size) -> None:
        self._directory = directory
        steps.save_size(directory, size)

    def run(self, name: str, function: str) -> Step:
        """Run a step and print what it took."""
        found = self._step(function)
        print(f"{name:22} {found}")
        return found

    def read(self, name: str, function: str, size: int) -> None:
        """Run a step that reads `size` bytes; print how many per second and core."""
        found = self._step(function)
        speeds = f"{size / found.seconds / 1e9:.2f} GB/s, {size / found.cpu_seconds / 1e9:.2f} GB/s per core"
        print(f"{name:22} {found}  {speeds}")

    def write(self, name: str, function: str, size: int) -> Step:
        """Run a step that writes about `size` bytes; print its speed as a ratio to that of `dd` before and after."""
        before = self._dd(size)
        found = self._step(function)
        disk = (before + self._dd(size)) / 2
        speed = size / found.seconds
        print(f"{name:22} {found}  {speed / 1e6:.0f} MB/s, dd {disk / 1e6:.0f} MB/s: {speed / disk:.2f} of dd")
        return found

    def _dd(self, size: int) -> float:
        return dd(data.dataset(self._directory, 0), self._directory, size)

    def _step(self, function: str) -> Step:
        return step("reward_profiling_tests.bench.plane.steps", function, self._directory)

    def clean_up(self, *names: str) -> None:
        """Remove what is no longer needed."""
        steps.clean_up(self._directory, *names)


def run(directory: Path, size: data.Size) -> None:
    """All steps, each in a process of its own, printed as they end."""
    bench = Bench(directory, size)
    rows = size.entries * size.tasks * size.repeats
    print(f"{size.entries} entries, {size.entries * size.tasks:,} tasks x {size.repeats}, {size.shards} shards")
    bench.run("(datasets)", "write_datasets")
    work = size.repeats * sum(data.dataset(directory, number).stat().st_size for number in range(size.entries))
    print(f"{work / 1e9:.2f} GB of work lists")
    ours = bench.write("materialize", "materialize_ours", work)
    naive = bench.run("decode and encode", "materialize_naively")
    print(
        f"{'':22} {naive.seconds / ours.seconds:.1f} x wall, {naive.cpu_seconds / ours.cpu_seconds:.1f} x CPU of ours"
    )
    bench.clean_up("naive")
    collected = bench.run("(rollouts)", "write_rollouts").result
    print(f"{collected / 1e9:.2f} GB of rollouts, {rows:,} rows")
    bench.read("first look", "look_at_all", collected)
    again = bench.run("second look", "look_at_all")
    print(f"{'':22} {again.seconds * 1000:.0f} ms with nothing new")
    bench.run("profile", "profile")
    bench.write("merge", "merge_all", collected)
    bench.clean_up("merged.jsonl", "merged_failures.jsonl")
    bench.write("split", "split_all", collected + work)
    bench.clean_up("by_label")
    bench.write("reshard 4 -> 6", "reshard_to_six", collected + work)
    bench.read("look at six", "look_at_all", collected)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m reward_profiling_tests.bench.plane")
    parser.add_argument("--tasks", type=int, default=2000, help="of each entry")
    parser.add_argument("--directory", type=Path, help="where the disk to be measured is; a temporary one by default")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="reward_profiling_bench_") as name:
        run(Path(name), data.Size(entries=8, tasks=options.tasks, repeats=8, shards=4, row_bytes=25_000))


if __name__ == "__main__":
    main()
