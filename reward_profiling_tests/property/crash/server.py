"""A process that has imported everything and forks a child for each operation: what makes hundreds of kills cheap.

Reads one JSON line per request: a list of children to run at the same time, each with `operation`, `folder`,
`arguments`, and at most one of `kill_at` (the number of the event at which it kills itself), `kill_after` (seconds
after which it is killed) and `fail` (`at`, the number of an event that fails, and its `errno`). Events are what the
child asks of the file system: opening, renaming, removing, making, and synchronizing files. Answers with one JSON line:
for each child how it ended (`done`, `refused`, `killed` or `crashed`), a text, its events and its seconds.
"""

import os
import select
import signal
import sys
import time
import traceback
from typing import Any

import orjson

from reward_profiling.errors import RewardProfilingError
from reward_profiling_tests.property.crash.operations import run

_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.utime")
_TIMEOUT = 120.0


class Events:
    """Counts what the process asks of the file system, and lets one of these events be its last or fail."""

    def __init__(self, kill_at: int | None, fail: dict[str, int] | None) -> None:
        self.count = 0
        self._kill_at, self._fail = kill_at, fail or {}
        self._inside = False

    def watch(self) -> None:
        """Begin to count."""
        sys.addaudithook(lambda name, values: self._take() if name in _EVENTS and self._counts(name, values) else None)
        for name in ("fsync", "writev"):
            setattr(os, name, self._counted(getattr(os, name)))

    def _counts(self, name: str, values: tuple[Any, ...]) -> bool:
        # Modules that are imported late, and the system's own files, are no part of any operation.
        path = str(values[0])
        return name != "open" or not (
            path.startswith(("/proc", "/sys", "/dev")) or path.endswith((".py", ".pyc", ".so"))
        )

    def _counted(self, function: Any) -> Any:
        def counted(*values: Any) -> Any:
            self._take()
            return function(*values)

        return counted

    def _take(self) -> None:
        self.count += 1
        if self.count == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.count == self._fail.get("at"):
            raise OSError(self._fail["errno"], os.strerror(self._fail["errno"]))


def _child(asked: dict[str, Any], answer: int) -> None:
    events = Events(asked.get("kill_at"), asked.get("fail"))
    end, text = "done", ""
    events.watch()
    try:
        run(orjson.dumps(asked))
    except RewardProfilingError as error:
        end, text = "refused", str(error)
    except BaseException:  # noqa: BLE001 - whatever else comes out of an operation is what the test wants to see
        end, text = "crashed", traceback.format_exc()
    count = events.count
    os.write(answer, orjson.dumps({"end": end, "text": text, "events": count}))
    os._exit(0)


def _start(asked: dict[str, Any]) -> tuple[int, int]:
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _child(asked, theirs)
    os.close(theirs)
    return child, ours


def _wait(asked: dict[str, Any], child: int, answer: int, began: float) -> dict[str, Any]:
    seconds = asked.get("kill_after", _TIMEOUT)
    ready, _, _ = select.select([answer], [], [], max(began + seconds - time.monotonic(), 0))
    if not ready:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    text = os.read(answer, 1 << 20)
    os.close(answer)
    took = time.monotonic() - began
    return {**(orjson.loads(text) if text else {"end": "killed", "text": "", "events": None}), "seconds": took}


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin.buffer:
        asked = orjson.loads(line)
        began = time.monotonic()
        started = [(each, *_start(each)) for each in asked]
        answers = [_wait(*each, began) for each in started]
        sys.stdout.buffer.write(orjson.dumps(answers) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
