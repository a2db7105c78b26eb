"""The stall watchdog: neither a hung policy nor a dead server ever ends a collector (Gym contract 9.2).

Promise: ends the job when the shard's files have not grown for too long; tells of growth as it is seen.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.inside.ending import Ending

_LONGEST_PAUSE = 1.0
_SAY_EVERY = 300.0
_log = logging.getLogger(__name__)


async def stalled(files: Sequence[Path], patience: float, on_growth: Callable[[], None]) -> Ending:
    """A watcher: nothing was appended to `files` for `patience` seconds."""
    start = _size(files)
    try:
        await _watch(files, patience, start, on_growth)
    finally:
        if _size(files) != start:
            on_growth()
    return Ending(Reason.STALLED, f"no new row for {patience:g} s, with everything alive")


async def _watch(files: Sequence[Path], patience: float, start: int, on_growth: Callable[[], None]) -> None:
    pause = min(_LONGEST_PAUSE, patience / 10)
    seen = said = start
    last_look = grown_at = said_at = time.monotonic()
    while last_look - grown_at < patience:
        await asyncio.sleep(pause)
        now, size = time.monotonic(), _size(files)
        if size != seen:
            on_growth()
            seen, grown_at = size, now
        if now - last_look > 10 * pause + 1:
            grown_at = now  # the job was suspended, and so was everything that could have written
        last_look = now
        if now - said_at >= _SAY_EVERY:
            _log.info("collected %d bytes in %d s", seen - said, now - said_at)
            said, said_at = seen, now


def _size(files: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in files if path.exists())
