"""Rows gathered into a frame.

Promise: at most one batch of rows is held as Python objects, which take ten times the memory of a frame's.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

BATCH_ROWS = 20_000


class RowFrames:
    """Takes rows one by one, in the order of the columns of `schema`."""

    def __init__(self, schema: Mapping[str, pl.DataType]) -> None:
        self._schema = dict(schema)
        self._frames = [pl.DataFrame(schema=self._schema)]
        self._rows: list[tuple[Any, ...]] = []

    def add(self, row: tuple[Any, ...]) -> None:
        """Append one row."""
        self._rows.append(row)
        if len(self._rows) == BATCH_ROWS:
            self._flush()

    def frame(self) -> pl.DataFrame:
        """All rows so far."""
        self._flush()
        return pl.concat(self._frames)

    def _flush(self) -> None:
        if self._rows:
            columns = dict(zip(self._schema, zip(*self._rows, strict=True), strict=True))
            self._frames.append(pl.DataFrame(columns, schema=self._schema))
            self._rows.clear()
