"""Gym's servers: started on a head port of this job's own, and ready when they say so (Gym contract 2 and 8).

Promise: what is called ready is this job's Gym, not another one that answers on the same port, and its process is
alive. A start that loses a port to somebody else is tried again.
"""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Mapping

from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.inside.ending import EndedError, unless
from reward_profiling.launch.inside.network import NoAnswerError, ask, free_port
from reward_profiling.launch.inside.options import Options
from reward_profiling.launch.inside.parts import GYM_SERVERS, Part, PartKind, running

_STARTS = 3
_TIMEOUT = 10.0
_PAUSE = 0.5
# Only at the start of a line: `0 / 4 servers ready` is in the log as well.
_ALL_READY = re.compile(rb"^All (\d+) / \1 servers ready!", re.MULTILINE)
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_VERSION_PART = PartKind("gym-version", signal.SIGTERM, 1.0)
_VERSION_TIMEOUT = 60.0
HEAD_PORT = "RP_HEAD_PORT"


@contextlib.asynccontextmanager
async def serving(
    options: Options,
    environment: Mapping[str, str],
    exit_codes: dict[str, int],
    *,
    draw_port: Callable[[], int] = free_port,
) -> AsyncIterator[tuple[Part, int]]:
    """Gym's servers and their head port for as long as the block lasts; `EndedError` when they do not come up."""
    why = ""
    for start in range(1, _STARTS + 1):
        port = draw_port()
        log = options.logs / f"gym-servers.{start}.log"
        async with running(
            GYM_SERVERS, options.script, log, {**environment, HEAD_PORT: str(port)}, exit_codes
        ) as servers:
            try:
                await unless(_ready(servers, port, options.patience.ready), [servers.ending(Reason.GYM_NOT_READY)])
            except EndedError as error:
                why = error.ending.message
                if servers.exit_code is None:  # too slow, which another start would be again
                    raise
                continue
            yield servers, port
            return
    raise EndedError(Reason.GYM_NOT_READY, f"{_STARTS} starts failed; {why}")


async def _ready(servers: Part, port: int, timeout: float) -> None:
    try:
        async with asyncio.timeout(timeout):
            while not (await _says_ready(servers, port) and await _is_ours(servers, port)):
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        raise EndedError(
            Reason.GYM_NOT_READY, f"Gym's servers were not ready after {timeout:g} s: {servers.last_words()}"
        ) from None


async def _says_ready(servers: Part, port: int) -> bool:
    status = await _status(port, "/readyz")
    if status == 404:  # releases without it say so in their log only
        return bool(_ALL_READY.search(servers.log.read_bytes()))
    return status == 200


async def _status(port: int, route: str) -> int | None:
    try:
        return (await ask(f"http://127.0.0.1:{port}{route}", timeout=_TIMEOUT)).status
    except NoAnswerError:
        return None


async def _is_ours(servers: Part, port: int) -> bool:
    """Whether the head that answers lists processes of this start's session."""
    try:
        instances = (await ask(f"http://127.0.0.1:{port}/server_instances", timeout=_TIMEOUT)).json()
    except NoAnswerError:
        return False
    pids = [each.get("pid") for each in instances or [] if isinstance(each, dict)]
    return any(isinstance(pid, int) and _session_of(pid) == servers.session for pid in pids)


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


@contextlib.asynccontextmanager
async def stating_version(options: Options, environment: Mapping[str, str]) -> AsyncIterator[Part]:
    """`gym --version`, which takes seconds: start it beside the servers, and ask `stated_version` afterwards."""
    log = options.logs / "gym-version.log"
    async with running(_VERSION_PART, options.script, log, environment, {}) as part:
        yield part


async def stated_version(part: Part) -> str | None:
    """The release that `gym --version` names; None when it does not say."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(part.wait(), _VERSION_TIMEOUT)
    found = _VERSION.search(part.log.read_text(errors="replace"))
    return found[0] if found else None
