"""A frame holds the rows that were added, in order, whatever is in them."""

import polars as pl
import pytest

from reward_profiling.sweep.row_frames import RowFrames

SCHEMA = {"number": pl.Int64(), "flag": pl.Boolean(), "text": pl.String(), "content": pl.Binary()}
ROWS = [(0, True, "", b""), (-(2**63), False, "é\0\n", b"\xff\0"), (2**63 - 1, True, "x" * 500, b"y" * 500)]


@pytest.mark.parametrize("rows", [[], ROWS[:1], ROWS, ROWS * 5000])
def test_rows_come_out_as_they_went_in(rows: list) -> None:
    frames = RowFrames(SCHEMA)
    for row in rows:
        frames.add(row)
    assert frames.frame().equals(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    assert frames.frame().schema == SCHEMA


def test_a_row_must_have_every_column() -> None:
    with pytest.raises(ValueError, match="zip"):
        RowFrames(SCHEMA).add((1, True, "a"))
