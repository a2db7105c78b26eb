"""Blocking work beside the event loop.

Promise: a signal is acted upon while the work goes on, and work that hangs keeps no job from ending: unlike those of
asyncio's own pool, these threads are not waited for.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises."""
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - raised again where the work is waited for
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(future)
