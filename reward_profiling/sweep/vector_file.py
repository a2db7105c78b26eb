"""A new file that is written from many pieces without copying them together first.

Promise: the file holds the pieces in the order in which they were added once `close` has returned; a piece that is
added several times is kept once until it is written.
"""

import os
from collections.abc import Callable
from pathlib import Path

_WRITE_BYTES = 8 << 20
_PIECES = min(1024, os.sysconf("SC_IOV_MAX"))


class VectorFile:
    """`written` counts the bytes added so far; `advance` is told of bytes as they are written."""

    def __init__(self, path: Path, advance: Callable[[int], None] = lambda _: None) -> None:
        self.written = 0
        self._advance = advance
        self._pieces: list[bytes | memoryview] = []
        self._size = 0
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)

    def __enter__(self) -> "VectorFile":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            os.close(self._descriptor)

    def add(self, piece: bytes) -> None:
        """Append `piece`."""
        self._pieces.append(piece)
        self._size += len(piece)
        if len(self._pieces) == _PIECES or self._size >= _WRITE_BYTES:
            self._flush()

    def _flush(self) -> None:
        pieces = self._pieces
        while pieces:
            count = os.writev(self._descriptor, pieces)
            # The system may take less than it is given.
            done = 0
            while done < len(pieces) and count >= len(pieces[done]):
                count -= len(pieces[done])
                done += 1
            del pieces[:done]
            if count:
                pieces[0] = memoryview(pieces[0])[count:]
        self.written += self._size
        self._advance(self._size)
        self._size = 0
