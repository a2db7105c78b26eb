"""`gym env start`: the head server that a job waits for and a collector asks (Gym contract 2).

Promise: `/` and `/livez` answer at once; `/readyz`, `/health` and `/healthz` say 503 until the servers are ready, then
200; `/server_instances` lists what the configs declare. It runs until it is signalled: SIGINT ends it with 0, SIGTERM
with a code that is not 0. No server and no policy stands behind it.
"""

import json
import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from reward_profiling.errors import RewardProfilingError
from reward_profiling.simulate import config
from reward_profiling.simulate.steering import Steering

DEFAULT_PORT = 11000
_PLAN_ROUTE = "/global_config_dict_yaml"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Address:
    """Where a head server listens."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def address(settings: Mapping[str, Any]) -> Address:
    """Where the `head_server` block says. Raises `RewardProfilingError` when that is no address."""
    default = Address()
    host, port = settings.get("host", default.host), settings.get("port", default.port)
    if not isinstance(host, str) or not isinstance(port, int) or not 0 < port < 1 << 16:
        raise RewardProfilingError(f"no address: {host}:{port}", place="head_server", cure="pass ++head_server.port=")
    return Address(host, port)


@dataclass(frozen=True)
class Plan:
    """What a collector learns from the head: agent -> environment server, and the configs' `simulate` block."""

    environment_servers: dict[str, str]
    simulate: dict[str, Any] = field(default_factory=dict)


def serve(settings: config.Config, at: Address, steering: Steering) -> int:
    """Be the servers until a signal comes; the exit code."""
    running = config.servers(settings)
    plan = Plan(config.environment_servers(running), dict(settings.get("simulate") or {}))
    instances = [_instance(server, at) for server in running]
    try:
        server = _Head(at, plan, instances)
    except OSError as error:
        raise RewardProfilingError(f"cannot listen: {error}", place=str(at), cure="pass another head port") from error
    with server:
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        try:
            return _live(server, len(instances), steering)
        except KeyboardInterrupt:
            return 0


def ask(at: Address) -> Plan:
    """The plan of the head server at `at`. Raises `RewardProfilingError` when none answers."""
    connection = HTTPConnection(at.host, at.port, timeout=30)
    try:
        connection.request("GET", _PLAN_ROUTE)
        content = json.loads(connection.getresponse().read())
        return Plan(content["environment_servers"], content["simulate"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise RewardProfilingError(
            f"no head server of the stand-in answers: {error}", place=str(at), cure="start env start first"
        ) from error
    finally:
        connection.close()


def _live(server: "_Head", count: int, steering: Steering) -> int:
    time.sleep(steering.ready_after_s)
    server.ready = True
    _log.info("All %d / %d servers ready! Polling every 60s", count, count)
    if steering.env_exit_after_s is None:
        threading.Event().wait()
    time.sleep(steering.env_exit_after_s or 0)
    _log.error("ending on demand")
    return 1


class _Head(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, at: Address, plan: Plan, instances: list[dict[str, Any]]) -> None:
        self.ready = False
        self.plan = plan
        self.instances = instances
        super().__init__((at.host, at.port), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Head

    def log_message(self, format: str, *args: Any) -> None:
        """Silence: a job polls."""

    def do_GET(self) -> None:
        head = self.server
        if self.path in ("/", "/livez"):
            self._send(200, {"status": "ok"})
        elif self.path in ("/readyz", "/health", "/healthz"):
            self._send(200 if head.ready else 503, {"status": "ok" if head.ready else "starting"})
        elif self.path == "/server_instances":
            self._send(200, head.instances)
        elif self.path == _PLAN_ROUTE:
            self._send(200, vars(head.plan))
        else:
            self._send(404, {"detail": "Not Found"})

    def _send(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _instance(server: config.Server, at: Address) -> dict[str, Any]:
    return {
        "config_path": server.instance,
        "process_name": server.instance,
        "server_type": server.type,
        "name": server.program,
        "entrypoint": server.settings.get("entrypoint"),
        "host": at.host,
        "port": at.port,
        "url": f"http://{at}",
        "pid": os.getpid(),
        "start_time": time.time(),
        "_simulated": True,
    }
