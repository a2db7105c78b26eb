"""Writing many files side by side with bounded memory and one open file at a time.

Promise: each file holds what was written to it, in that order, and is on disk when the block ends cleanly; the number
of files does not change how much memory they take together.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from reward_profiling.files import storage_error

BUFFER_BYTES = 32 << 20
_LEAST_BYTES = 64 << 10


class Spools:
    """Files that grow at their ends, known by their number."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._buffers = [bytearray() for _ in paths]
        self._limit = max(BUFFER_BYTES // max(len(paths), 1), _LEAST_BYTES)
        self.written = [0] * len(paths)

    def write(self, number: int, content: bytes) -> None:
        """Append to file `number`."""
        buffer = self._buffers[number]
        buffer += content
        if len(buffer) >= self._limit:
            self._flush(number)

    def _flush(self, number: int, *, sync: bool = False) -> None:
        path, buffer = self._paths[number], self._buffers[number]
        try:
            with path.open("ab", buffering=0) as stream:
                # A raw write may take less than it is given.
                written = 0
                while written < len(buffer):
                    with memoryview(buffer) as view:
                        written += stream.write(view[written:])
                if sync:
                    os.fsync(stream.fileno())
        except OSError as error:
            raise storage_error(path, error) from error
        self.written[number] += len(buffer)
        buffer.clear()

    def close(self) -> None:
        """Write what is left and make all files durable; a file to which nothing was written exists and is empty."""
        for number in range(len(self._paths)):
            self._flush(number, sync=True)


@contextlib.contextmanager
def spools(paths: Sequence[Path]) -> Iterator[Spools]:
    """Files that are new, one per path; their directories are made when missing."""
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("xb").close()
        except OSError as error:
            raise storage_error(path, error) from error
    made = Spools(paths)
    yield made
    made.close()
