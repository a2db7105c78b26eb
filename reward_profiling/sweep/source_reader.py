"""Fetching rows of datasets by where they lie.

Promise: what is handed out are the bytes that were indexed, or the dataset is refused. The next rows are asked for
ahead, so that rows which lie apart cost no wait each.
"""

import os
import sys
from collections import deque
from collections.abc import Iterator

import polars as pl

from reward_profiling.errors import DatasetError
from reward_profiling.sweep.sources import content_hash

_AHEAD_ROWS = 32
Place = tuple[str, int, int, str]
"""Source, byte offset, byte length, content hash."""


class SourceReader:
    """Reads rows of any number of datasets; close it when done."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}

    def __enter__(self) -> "SourceReader":
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)

    def bodies(self, tasks: pl.DataFrame) -> Iterator[bytes]:
        """The bytes of the rows of `tasks` (`source`, `byte_offset`, `byte_length`, `content_hash`), in order."""
        ahead: deque[Place] = deque()
        for place in tasks.select("source", "byte_offset", "byte_length", "content_hash").iter_rows():
            self._ask(place)
            ahead.append(place)
            if len(ahead) > _AHEAD_ROWS:
                yield self._fetch(ahead.popleft())
        for place in ahead:
            yield self._fetch(place)

    def _descriptor(self, source: str) -> int:
        found = self._descriptors.get(source)
        if found is None:
            try:
                found = self._descriptors[source] = os.open(source, os.O_RDONLY)
            except OSError as error:
                raise _unreadable(source, error) from error
        return found

    def _ask(self, place: Place) -> None:
        source, offset, length, _ = place
        descriptor = self._descriptor(source)
        if sys.platform == "linux":
            os.posix_fadvise(descriptor, offset, length, os.POSIX_FADV_WILLNEED)

    def _fetch(self, place: Place) -> bytes:
        source, offset, length, expected = place
        try:
            body = os.pread(self._descriptor(source), length, offset)
        except OSError as error:
            raise _unreadable(source, error) from error
        if content_hash(body) != expected:
            raise DatasetError(
                f"the row at byte {offset} is no longer the one that was indexed",
                place=source,
                cure="restore the dataset, or materialize again under a new nickname",
            )
        return body


def _unreadable(source: str, error: OSError) -> DatasetError:
    problem = f"the dataset cannot be read: {error.strerror}"
    return DatasetError(problem, place=source, cure="restore it and run again")
