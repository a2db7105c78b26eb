"""Pieces arrive in order, however little the system takes at a time."""

import os
import random
from pathlib import Path

import pytest

from reward_profiling.sweep import vector_file
from reward_profiling.sweep.vector_file import VectorFile


@pytest.mark.parametrize("at_most", [None, 1, 7, 1000])
def test_pieces_are_written_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_most: int | None) -> None:
    if at_most:
        monkeypatch.setattr(os, "writev", lambda file, pieces: os.write(file, b"".join(pieces)[:at_most]))
    monkeypatch.setattr(vector_file, "_WRITE_BYTES", 500)
    monkeypatch.setattr(vector_file, "_PIECES", 9)
    rng = random.Random(1)
    pieces = [rng.randbytes(rng.choice([0, 1, 30, 700])) for _ in range(60)]
    told: list[int] = []
    with VectorFile(tmp_path / "file", told.append) as target:
        for piece in pieces:
            target.add(piece)
    assert (tmp_path / "file").read_bytes() == b"".join(pieces)
    assert target.written == sum(told) == sum(map(len, pieces))


def test_many_pieces_exceed_no_limit_of_the_system(tmp_path: Path) -> None:
    with VectorFile(tmp_path / "file") as target:
        for number in range(5000):
            target.add(b"%d\n" % number)
    assert (tmp_path / "file").read_bytes().split() == [b"%d" % number for number in range(5000)]


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        VectorFile(tmp_path / "file")
