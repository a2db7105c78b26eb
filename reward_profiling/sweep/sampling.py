"""Which rows of a dataset a sweep takes.

Promise: the choice depends on nothing but (mode, seed, label, row number, limit); it is the same on every machine, does
not change with the other entries, and the rows taken for a limit are a subset of those for a larger one.
"""

import heapq
from hashlib import blake2b
from typing import Literal

SampleMode = Literal["head", "random"]


def _rank(seed: int, label: str, row: int) -> bytes:
    return blake2b(f"{seed}\0{label}\0{row}".encode(), digest_size=8).digest()


def choose_rows(count: int, limit: int | None, mode: SampleMode, seed: int, label: str) -> range | list[int]:
    """The row numbers taken out of `count`, ascending. `limit` None or beyond `count` takes all."""
    if limit is None or limit >= count:
        return range(count)
    if mode == "head":
        return range(limit)
    return sorted(heapq.nsmallest(limit, range(count), key=lambda row: (_rank(seed, label, row), row)))
