"""An OpenAI-compatible chat server whose skill is seeded and whose failures come on demand.

Promise: `POST /v1/chat/completions` (streamed or not), `GET /v1/models` and `GET /health` answer as a vLLM server does,
with usage numbers; answers come from `policy_skill`: the n-th request with one conversation gets the same answer in
every run of one seed. `POST /lab/mode` changes how chat requests fare from then on, `GET /lab/state` says the mode and
how many chat requests have come. Use it as a library (`PolicyServer`) or as a program, which prints one JSON line
`{"url": ..., "pid": ...}` once it listens:

    python -m lab.policy_server --port 0 --seed 7
    curl -d '{"mode": "fail", "status": 503, "times": 2}' http://127.0.0.1:PORT/lab/mode
"""

import argparse
import hashlib
import json
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import policy_skill

MODEL = "lab-policy"
_TOKENS_PER_WORD = 4 / 3


@dataclass(frozen=True)
class Mode:
    """How chat requests fare. `mode` is one of

    - `ok`: answered;
    - `fail`: refused with HTTP `status` and `message`;
    - `hang`: never answered (until the mode changes or the server stops), the connection stays open;
    - `close`: the connection is closed without an answer;
    - `garbage`: HTTP 200 whose body is not JSON;
    - `slow`: answered after `seconds`;
    - `die`: the server's process ends at once, with the request unanswered.

    Only requests whose conversation contains `match` are concerned, and only the next `times` of them (0: all).
    """

    mode: str = "ok"
    status: int = 500
    message: str = "the lab was told to fail"
    seconds: float = 1.0
    match: str = ""
    times: int = 0

    def __post_init__(self) -> None:
        if self.mode not in {"ok", "fail", "hang", "close", "garbage", "slow", "die"}:
            raise ValueError(f"no such mode: {self.mode}")


class PolicyServer:
    """A policy on loopback, served by threads of this process from construction to `close`."""

    def __init__(self, *, seed: int = 7, port: int = 0, host: str = "127.0.0.1", model: str = MODEL) -> None:
        self.seed = seed
        self.model = model
        self._lock = threading.Lock()
        self._mode = Mode()
        self._left = 0
        self._seen: dict[bytes, int] = {}
        self._requests = 0
        self._changed = threading.Event()
        self._http = _Server((host, port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL, `http://host:port/v1`: what `policy_base_url` wants."""
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    def set_mode(self, mode: str, **settings: Any) -> None:
        """Change how chat requests fare (`Mode`); requests that hang are let go."""
        wanted = Mode(mode, **settings)
        with self._lock:
            self._mode, self._left = wanted, wanted.times
            self._changed.set()
            self._changed = threading.Event()

    def state(self) -> dict[str, Any]:
        """The mode, and the number of chat requests since the start."""
        with self._lock:
            return {**asdict(self._mode), "requests": self._requests}

    def close(self) -> None:
        """Stop listening and let hanging requests go."""
        self._http.shutdown()
        self._http.server_close()
        with self._lock:
            self._changed.set()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def admit(self, prompt: str) -> tuple[Mode, threading.Event]:
        """Count a chat request; the mode that it meets, and the event that ends a hang."""
        with self._lock:
            self._requests += 1
            mode = self._mode
            concerned = mode.mode != "ok" and mode.match in prompt and (mode.times == 0 or self._left > 0)
            if concerned and mode.times:
                self._left -= 1
            return (mode if concerned else Mode()), self._changed

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """A chat completion for a request body: OpenAI's object, not streamed."""
        messages = body.get("messages") or []
        prompt = policy_skill.prompt_text(messages)
        key = hashlib.sha256(prompt.encode()).digest()
        with self._lock:
            nth = self._seen.get(key, 0)
            self._seen[key] = nth + 1
        given = policy_skill.answer(self.seed, messages, nth)
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or sys.maxsize
        tokens = _tokens(given.reasoning) + _tokens(given.text)
        text, reason = (given.text, "stop") if tokens <= limit else ("", "length")
        prompt_tokens, completion_tokens = _tokens(prompt), min(tokens, limit)
        return {
            "id": f"chatcmpl-{key.hex()[:12]}-{nth}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body.get("model") or self.model,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reason,
                    "logprobs": None,
                    "message": {"role": "assistant", "content": text, "reasoning_content": given.reasoning},
                }
            ],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int], policy: PolicyServer) -> None:
        self.policy = policy
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is daily life in tests of failures."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Silence: a line per request would drown what a test prints."""

    def do_GET(self) -> None:
        policy = self.server.policy
        if self.path == "/health":
            self._send(200, {})
        elif self.path == "/lab/state":
            self._send(200, policy.state())
        elif self.path == "/v1/models":
            self._send(200, {"object": "list", "data": [{"id": policy.model, "object": "model", "owned_by": "lab"}]})
        else:
            self._send(404, _error("no such route"))

    def do_POST(self) -> None:
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            if self.path == "/lab/mode":
                self.server.policy.set_mode(**body)
                self._send(200, self.server.policy.state())
            elif self.path == "/v1/chat/completions":
                self._chat(body)
            else:
                self._send(404, _error("no such route"))
        except (ValueError, TypeError) as error:
            self._send(400, _error(str(error)))

    def _chat(self, body: dict[str, Any]) -> None:
        policy = self.server.policy
        mode, changed = policy.admit(policy_skill.prompt_text(body.get("messages") or []))
        match mode.mode:
            case "die":
                os._exit(1)
            case "fail":
                self._send(mode.status, _error(mode.message))
            case "garbage":
                self._send_bytes(200, "text/plain", b"<html>this is not JSON")
            case "close":
                self.close_connection = True
            case "hang":
                changed.wait()
                self.close_connection = True
            case _:
                if mode.mode == "slow":
                    changed.wait(mode.seconds)
                self._answer(policy.complete(body), body)

    def _answer(self, completion: dict[str, Any], body: dict[str, Any]) -> None:
        if body.get("stream"):
            self._send_bytes(200, "text/event-stream", _events(completion, body.get("stream_options") or {}))
        else:
            self._send(200, completion)

    def _send(self, status: int, content: dict[str, Any]) -> None:
        self._send_bytes(status, "application/json", json.dumps(content).encode())

    def _send_bytes(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _events(completion: dict[str, Any], options: dict[str, Any]) -> bytes:
    """The server-sent events of a streamed completion: role, one per word, the end, the usage if asked, [DONE]."""
    message, reason = completion["choices"][0]["message"], completion["choices"][0]["finish_reason"]
    head = {key: completion[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": word + " "} for word in message["reasoning_content"].split()]
    deltas += [{"content": part} for part in message["content"].splitlines(keepends=True)]
    chunks = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if options.get("include_usage"):
        chunks.append(head | {"choices": [], "usage": completion["usage"]})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "lab", "code": None}}


def _tokens(text: str) -> int:
    return round(len(text.split()) * _TOKENS_PER_WORD)


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m lab.policy_server", description="A policy for tests and demos.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--port-file", type=Path, help="write the port number there once it listens")
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        server = PolicyServer(seed=options.seed, port=options.port, host=options.host, model=options.model)
    except (OSError, socket.gaierror) as error:
        sys.exit(f"lab.policy_server: cannot listen on {options.host}:{options.port}: {error}; pass another --port")
    with server:
        if options.port_file:
            temporary = options.port_file.with_name(options.port_file.name + ".tmp")
            temporary.write_text(server.url.rsplit(":", 1)[1].removesuffix("/v1"))
            temporary.replace(options.port_file)
        print(json.dumps({"url": server.url, "pid": os.getpid()}), flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
