"""The few things that a supervisor asks of the network: an answer to a question, a port that is free."""

import json
import random
import socket
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from reward_profiling.launch.inside.threads import in_thread

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_LONGEST_ANSWER = 4 << 20
# Above the ports that Gym gives its own servers (10001 to 20000), below those that Linux gives to outgoing connections.
_PORTS = range(20001, 32000)


class NoAnswerError(Exception):
    """Nobody answered; the text says why."""


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, whatever its status."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The body as JSON, None when it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


async def ask(url: str, *, timeout: float, key: str | None = None, content: Any = None) -> Answer:
    """GET `url`, or POST `content` as JSON. Raises `NoAnswerError`."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = None
    if content is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(content).encode()
    request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310 - http and https only, as validated
    return await in_thread(lambda: _fetch(request, timeout))


def _fetch(request: urllib.request.Request, timeout: float) -> Answer:
    # A proxy of the site knows nothing of this node's own ports.
    direct = [urllib.request.ProxyHandler({})] if urlsplit(request.full_url).hostname in _LOOPBACK else []
    try:
        with urllib.request.build_opener(*direct).open(request, timeout=timeout) as response:
            return Answer(response.status, response.read(_LONGEST_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read(_LONGEST_ANSWER))
    except urllib.error.URLError as error:
        raise NoAnswerError(str(error.reason)) from error
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswerError(str(error) or type(error).__name__) from error


def free_port() -> int:
    """A port on which nothing listens now; jobs that share a node rarely draw the same one."""
    draw = random.SystemRandom()
    while True:
        port = draw.choice(_PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                continue
        return port
