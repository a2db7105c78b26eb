"""How a long piece of work says how far it is.

Promise: whoever does the work tells bytes and nothing else; who listens decides how to show them. `ProgressLines` says
at most one line per period, for logs; a terminal gets a bar (see the command line).
"""

import time
from collections.abc import Callable
from typing import Protocol

Note = Callable[[str], None]
"""Takes one line of progress."""

PERIOD_SECONDS = 15.0


class Progress(Protocol):
    """Listens to one piece of work after another."""

    def begin(self, what: str, total: int) -> None:
        """Work of `total` bytes begins."""

    def at(self, done: int) -> None:
        """So many of them are done."""


class _Quiet:
    def begin(self, what: str, total: int) -> None:
        pass

    def at(self, done: int) -> None:
        pass


QUIET: Progress = _Quiet()


class ProgressLines:
    """Progress as lines, one per period while work is going on."""

    def __init__(self, note: Note, *, period: float = PERIOD_SECONDS) -> None:
        self._note, self._period = note, period
        self._what, self._total = "", 0
        self._began = self._said = time.monotonic()

    def begin(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._began = self._said = time.monotonic()

    def at(self, done: int) -> None:
        now = time.monotonic()
        if now - self._said < self._period or not self._total:
            return
        self._said = now
        speed = done / (now - self._began)
        left = (self._total - done) / speed if speed else 0
        self._note(
            f"{self._what}: {done / 1e9:.1f} of {self._total / 1e9:.1f} GB ({100 * done // self._total} %), "
            f"{speed / 1e6:.0f} MB/s, {left:.0f} s left"
        )
