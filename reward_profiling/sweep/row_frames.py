"""Rows gathered into a frame.

Promise: rows are kept as columns of bytes from the start, never as Python objects, which would take ten times the
memory and, lying between the objects that every parsed row leaves behind, a fifth of the speed.
"""

from array import array
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import polars as pl
import pyarrow as pa


class RowFrames:
    """Takes rows one by one, in the order of the columns of `schema` (integers, booleans, text and bytes; no nulls)."""

    def __init__(self, schema: Mapping[str, pl.DataType]) -> None:
        self._columns = {name: _COLUMNS[type(dtype)]() for name, dtype in schema.items()}
        self._appends = [column.append for column in self._columns.values()]

    def add(self, row: tuple[Any, ...]) -> None:
        """Append one row."""
        for append, value in zip(self._appends, row, strict=True):
            append(value)

    def frame(self) -> pl.DataFrame:
        """All rows; none can be added afterwards."""
        return pl.DataFrame({name: column.series() for name, column in self._columns.items()})


class _Column(Protocol):
    def append(self, value: Any) -> None: ...

    def series(self) -> pl.Series: ...


class _Integers:
    def __init__(self) -> None:
        self._values = array("q")
        self.append = self._values.append

    def series(self) -> pl.Series:
        return pl.Series(np.frombuffer(self._values, dtype=np.int64), dtype=pl.Int64)


class _Booleans:
    def __init__(self) -> None:
        self._values = bytearray()
        self.append = self._values.append

    def series(self) -> pl.Series:
        return pl.Series(np.frombuffer(self._values, dtype=np.bool_), dtype=pl.Boolean)


class _Bytes:
    def __init__(self) -> None:
        self._content = bytearray()
        self._ends = array("q", [0])

    def append(self, value: bytes) -> None:
        self._content += value
        self._ends.append(len(self._content))

    def series(self) -> pl.Series:
        buffers = [None, pa.py_buffer(self._ends), pa.py_buffer(self._content)]
        return pl.Series(pa.Array.from_buffers(pa.large_binary(), len(self._ends) - 1, buffers), dtype=pl.Binary)


class _Texts(_Bytes):
    def append(self, value: str) -> None:  # type: ignore[override]
        super().append(value.encode())

    def series(self) -> pl.Series:
        return super().series().cast(pl.String)


_COLUMNS: dict[type[pl.DataType], type[Any]] = {
    pl.Int64: _Integers,
    pl.Boolean: _Booleans,
    pl.Binary: _Bytes,
    pl.String: _Texts,
}
