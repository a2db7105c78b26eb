"""Files are the old ones or the new ones; a full disk is one line and leaves nothing behind."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from reward_profiling.errors import StorageError
from reward_profiling.files import (
    append_json_line,
    atomic_file,
    atomic_path,
    exclusive_lock,
    read_json_lines,
    write_bytes,
)
from reward_profiling.sweep.materialize import materialize
from reward_profiling_tests.parts import missing
from reward_profiling_tests.sweeps import entry, request


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True).returncode:
        missing("a small file system", "run as root, who can mount a tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")
    with pytest.raises(ValueError, match="halfway"), atomic_file(path) as stream:
        stream.write(b"new")
        raise ValueError("halfway")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_line_and_leaves_nothing(small_disk: Path) -> None:
    with pytest.raises(StorageError, match="No space left on device; free space on this file system"):
        write_bytes(small_disk / "file", b"x" * (2 << 20))
    assert list(small_disk.iterdir()) == []


def test_a_full_disk_is_one_line_also_where_a_library_writes(small_disk: Path) -> None:
    frame = pl.DataFrame({"noise": random.Random(1).randbytes(2 << 20).hex()})
    refused = pytest.raises(StorageError, match=r"file\.parquet: No space left on device; free space")
    with refused, atomic_path(small_disk / "file.parquet") as temporary:
        frame.write_parquet(temporary)
    assert list(small_disk.iterdir()) == []
    with pytest.raises(ZeroDivisionError), atomic_path(small_disk / "file.parquet"):
        _ = 1 / 0


def test_a_full_disk_while_materializing_leaves_no_half_work_list(small_disk: Path, tmp_path: Path) -> None:
    plan = entry(tmp_path / "data", "alpha", tasks=200, repeats=64)
    with pytest.raises(StorageError, match="No space left on device"):
        materialize(request([plan], num_shards=2), small_disk)
    assert not [path for path in small_disk.rglob("*") if path.name.endswith((".tmp", ".jsonl"))]
    assert not list(small_disk.rglob("shard.json"))


def test_a_refused_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"file/below.*(Not a directory|File exists)|file: File exists"):
        write_bytes(tmp_path / "file" / "below", b"")


def test_an_append_after_a_torn_line_starts_a_new_one(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    append_json_line(log, {"n": 1})
    with log.open("ab") as stream:
        stream.write(b'{"n": 2, "cut')
    append_json_line(log, {"n": 3})
    assert read_json_lines(log) == [{"n": 1}, {"n": 3}]


def test_a_lock_is_exclusive_and_ends_with_its_block(tmp_path: Path) -> None:
    with exclusive_lock(tmp_path / "lock") as first, exclusive_lock(tmp_path / "lock", wait=False) as second:
        assert (first, second) == (True, False)
    with exclusive_lock(tmp_path / "lock", wait=False) as third:
        assert third
