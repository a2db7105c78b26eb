"""The same work on many parts, in several processes, results in the order of the parts.

Promise: never more results wait than there are processes to make them, times two; the processes end with the one that
started them, however it dies; an error of a part is raised here and ends the rest.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from multiprocessing import connection, get_context, parent_process
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Any, TypeVar

Result = TypeVar("Result")
Advance = Callable[[int], None]
"""Told how many more bytes are done."""

_POLL_SECONDS = 0.5


def in_order(
    work: Callable[..., Result], parts: Iterable[tuple[Any, ...]], jobs: int, at: Advance = lambda _: None
) -> Generator[Result, None, None]:
    """`work(advance, *part)` for each part, by `jobs` processes, or right here when that is 1.

    `at` is told how many bytes are done in all, a few times a second. `work` and the parts are pickled.
    """
    return _here(work, parts, at) if jobs <= 1 else _by_processes(work, parts, jobs, at)


def _here(work: Callable[..., Result], parts: Iterable[tuple[Any, ...]], at: Advance) -> Generator[Result, None, None]:
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        at(done)

    for part in parts:
        yield work(advance, *part)


def _by_processes(
    work: Callable[..., Result], parts: Iterable[tuple[Any, ...]], jobs: int, at: Advance
) -> Generator[Result, None, None]:
    # Spawned, not forked: Polars holds threads, and a fork of a threaded process can hang.
    context = get_context("spawn")
    done, stop = context.Value("q", 0), context.Event()
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(done, stop))
    waiting: deque[Future[Result]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(_run, work, part))
            if len(waiting) == 2 * jobs:
                yield _result(waiting.popleft(), done, at)
        while waiting:
            yield _result(waiting.popleft(), done, at)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _result(future: Future[Result], done: "Synchronized[int]", at: Advance) -> Result:
    while not wait([future], timeout=_POLL_SECONDS).done:
        at(done.value)
    at(done.value)
    return future.result()


class _StoppedError(Exception):
    """Nobody wants the result any more."""


class _Worker:
    """What a process of the pool shares with the one that started it: a count of bytes, and whether to stop."""

    done: "Synchronized[int]"
    stop: Event

    @classmethod
    def advance(cls, count: int) -> None:
        if cls.stop.is_set():
            raise _StoppedError
        with cls.done.get_lock():
            cls.done.value += count


def _start(done: "Synchronized[int]", stop: Event) -> None:
    _Worker.done, _Worker.stop = done, stop
    # Ctrl-C is for the process that a person started; it tells the others to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _run(work: Callable[..., Result], part: tuple[Any, ...]) -> Result:
    return work(_Worker.advance, *part)
