"""A disk that is full while writing: one line, and nothing half-written under any name.

A limit on the size of files stands for the full disk: the system refuses the same writes, with EFBIG for ENOSPC.
"""

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from reward_profiling.errors import StorageError
from reward_profiling.profile.catalog import build_catalog
from reward_profiling.profile.gym_profile import profile_files
from reward_profiling.profile.new_database import new_database
from reward_profiling_tests.unit.profile.random_files import random_files
from reward_profiling_tests.unit.profile.sweeps import profiled_sweep


@contextlib.contextmanager
def _files_no_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def test_a_profile_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    inputs, rollouts = random_files(3, tasks=200).write(tmp_path)
    before = _content(tmp_path)
    with _files_no_larger_than(20_000), pytest.raises(StorageError, match=r"_reward_profiling\.jsonl: File too large"):
        profile_files(inputs, rollouts, allow_partial=True)
    assert _content(tmp_path) == before


def test_a_database_that_cannot_be_written_out_does_not_replace_the_old_one(tmp_path: Path) -> None:
    old = build_catalog([], tmp_path)
    before = _content(tmp_path)
    # Small enough for the write-ahead log, too large for the file itself: the case in which closing alone is silent.
    with _files_no_larger_than(100_000), pytest.raises(StorageError, match=r"catalog\.duckdb: .*File too large"):
        build_catalog([], tmp_path)
    assert _content(tmp_path) == before
    with duckdb.connect(old.database, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM tasks").fetchone() == (0,)


def test_a_database_whose_making_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_database(tmp_path / "new.duckdb") as connection:
        connection.execute("CREATE TABLE one AS SELECT 1")
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_a_summary_is_not_replaced_when_a_table_cannot_be_written(tmp_path: Path) -> None:
    sweep = profiled_sweep(tmp_path, "one", [1.0])
    before = _content(sweep.profiles)
    with _files_no_larger_than(2_000), pytest.raises(StorageError, match=r"alpha\.parquet: .*File too large"):
        profiled_sweep(tmp_path, "one", [1.0, 1.0])
    assert _content(sweep.profiles) == before
