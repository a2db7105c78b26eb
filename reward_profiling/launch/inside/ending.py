"""Why a job ends, and waiting for the first of several reasons.

Promise: whoever waits here leaves no task behind, however the wait ends.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from reward_profiling.launch.exit_record import Reason

T = TypeVar("T")
Watcher = Coroutine[Any, Any, "Ending"]
"""Watches one thing, and returns when the job has to end because of it."""


@dataclass(frozen=True)
class Ending:
    """The reason in one word and in one line."""

    reason: Reason
    message: str


class EndedError(Exception):
    """The job cannot go on."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.ending = Ending(reason, message)


async def first(watchers: Sequence[Watcher]) -> Ending:
    """The earliest ending; of several at once, the one of the first watcher."""
    tasks = [asyncio.ensure_future(watcher) for watcher in watchers]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task in done).result()
    finally:
        await _cancelled(tasks)


async def unless(step: Coroutine[Any, Any, T], watchers: Sequence[Watcher]) -> T:
    """What `step` returns; raises `EndedError` when a watcher is faster."""
    task = asyncio.ensure_future(step)
    guards = [asyncio.ensure_future(watcher) for watcher in watchers]
    try:
        await asyncio.wait([task, *guards], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            ending = next(guard for guard in guards if guard.done()).result()
            raise EndedError(ending.reason, ending.message)
        return task.result()
    finally:
        await _cancelled([task, *guards])


async def _cancelled(tasks: Sequence["asyncio.Future[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
