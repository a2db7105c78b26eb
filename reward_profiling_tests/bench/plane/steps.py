"""The steps that are timed, each given the directory of the benchmark."""

import os
import shutil
from pathlib import Path

import orjson

from reward_profiling.profile.refresh import refresh
from reward_profiling.sweep.completeness import look
from reward_profiling.sweep.materialize import Effort, materialize
from reward_profiling.sweep.merge import merge
from reward_profiling.sweep.reshard import reshard
from reward_profiling.sweep.split import split
from reward_profiling_tests.bench.plane import data, naive
from reward_profiling_tests.bench.plane.data import Size


def save_size(directory: Path, size: Size) -> None:
    """Tell the steps how large the sweep is."""
    (directory / "size.json").write_bytes(orjson.dumps(size))


def load_size(directory: Path) -> Size:
    return Size(**orjson.loads((directory / "size.json").read_bytes()))


def write_datasets(directory: Path) -> None:
    data.write_datasets(directory, load_size(directory))


def materialize_ours(directory: Path) -> int:
    """Bytes of the work lists."""
    effort = Effort(os.cpu_count() or 1)
    report = materialize(data.request(directory, load_size(directory)), directory / "sweeps", effort=effort)
    shards = [data.sweep(directory).shard(number) for number in range(report.num_shards)]
    return sum(shard.work_list.stat().st_size for shard in shards)


def materialize_naively(directory: Path) -> int:
    """Bytes of the work lists."""
    size = load_size(directory)
    numbers = range(size.entries)
    datasets, labels = [data.dataset(directory, number) for number in numbers], [f"entry_{n:02d}" for n in numbers]
    return naive.materialize(datasets, labels, size.repeats, size.shards, directory / "naive")


def write_rollouts(directory: Path) -> int:
    return data.write_rollouts(directory, load_size(directory).row_bytes)


def look_at_all(directory: Path) -> int:
    """Rollouts that succeeded."""
    plan = data.plan(directory)
    return sum(look(plan, number).counts.succeeded for number in range(plan.report.num_shards))


def profile(directory: Path) -> int:
    """Environments."""
    return refresh(data.sweep(directory), {}).summary.height


def reshard_to_six(directory: Path) -> int:
    return reshard(data.plan(directory), 6, lambda *_: None, lambda _: None).num_shards


def merge_all(directory: Path) -> int:
    """Bytes of the merged rollouts."""
    return merge(data.plan(directory), directory / "merged.jsonl").rollouts.stat().st_size


def split_all(directory: Path) -> int:
    """Directories."""
    return len(split(data.plan(directory), directory / "by_label").folders)


def clean_up(directory: Path, *names: str) -> None:
    """Remove what is no longer needed, so that the benchmark fits on the disk."""
    for name in names:
        path = directory / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
