"""Many files side by side, rows by their place: the right bytes whatever the sizes of buffers and rows."""

import io
import random
from pathlib import Path

import polars as pl
import pytest

from reward_profiling.errors import StorageError
from reward_profiling.sweep import byte_ranges
from reward_profiling.sweep import spools as module
from reward_profiling.sweep.byte_ranges import copy_rows, uncovered
from reward_profiling.sweep.spools import spools


@pytest.mark.parametrize("buffer", [1, 100, 1 << 20])
def test_rows_go_where_they_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buffer: int) -> None:
    monkeypatch.setattr(module, "BUFFER_BYTES", buffer)
    monkeypatch.setattr(module, "_LEAST_BYTES", 1)
    monkeypatch.setattr(byte_ranges, "_CHUNK_BYTES", 7)
    dice = random.Random(buffer)
    lines = [b"%d" % number * dice.randint(1, 9) + b"\n" for number in range(300)]
    rows, offset = [], 0
    for line in lines:
        rows.append((offset, len(line), dice.randrange(3)))
        offset += len(line)
    taken = dice.sample(rows, 250)
    frame = pl.DataFrame(taken, schema=["offset", "length", "target"], orient="row")
    paths = [tmp_path / "a" / str(number) for number in range(3)]
    whole = b"".join(lines)
    with spools(paths) as made:
        copy_rows(io.BytesIO(whole), frame, made)
    for number, path in enumerate(paths):
        expected = b"".join(whole[start : start + size] for start, size, target in sorted(taken) if target == number)
        assert path.read_bytes() == expected
        assert made.written[number] == len(expected)
    gaps = uncovered(frame, len(whole))
    assert sum(length for _, length in gaps) + frame["length"].sum() == len(whole)


def test_no_rows_leave_the_whole_file_uncovered() -> None:
    empty = pl.DataFrame(schema={"offset": pl.Int64, "length": pl.Int64})
    assert uncovered(empty, 5) == [(0, 5)]
    assert uncovered(empty, 0) == []


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(StorageError, match="File exists"), spools([tmp_path / "a"]):
        pass
    assert (tmp_path / "a").read_bytes() == b"old"
