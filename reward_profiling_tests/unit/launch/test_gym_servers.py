"""Ready means: this job's own Gym, alive, and saying so, in the words of old and new releases."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reward_profiling.launch.gym_command import GymCommand
from reward_profiling.launch.inside import gym_servers
from reward_profiling.launch.inside.gym_servers import serving
from reward_profiling.launch.inside.network import free_port
from reward_profiling.launch.inside.options import Options
from reward_profiling.launch.inside.parts import GYM_SERVERS
from reward_profiling.launch.script import render_job
from reward_profiling.sweep.completeness import Plan
from reward_profiling_tests import jobs
from reward_profiling_tests.jobs import PATIENCE, STAND_IN, gone, one_shard, wait_for

# A head server of the oldest supported release: no /readyz, and the log says when all are ready.
OLD_GYM = """\
import http.server, json, os, sys, threading, time
port = next(int(word.split("=")[1]) for word in sys.argv if word.startswith("++head_server.port="))
class Head(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        known = self.path == "/server_instances"
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write(json.dumps([{"pid": os.getpid()}] if known else {}).encode())
server = http.server.HTTPServer(("127.0.0.1", port), Head)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("0 / 2 servers ready. Waiting for servers to spin up", flush=True)
time.sleep(1)
print("All 2 / 2 servers ready! Polling every 60s", flush=True)
time.sleep(60)
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return one_shard(tmp_path)


def _options(plan: Plan, gym: tuple[str, ...] = STAND_IN, **patience: float) -> Options:
    shard = plan.sweep.shard(0)
    script = shard.job_script
    script.write_text(render_job(shard, plan.sweep, 1, jobs.settings(gym=GymCommand(gym))))
    options = Options(
        script=script,
        sweep=plan.sweep,
        number=0,
        attempt=1,
        model="m",
        policy_url=None,
        serve_policy=False,
        policy_key=None,
        needs=(),
        simulated=True,
        patience=replace(PATIENCE, **patience),
    )
    options.logs.mkdir(parents=True)
    return options


def _serve_once(options: Options, ports: list[int]) -> tuple[int, int, dict[str, int]]:
    """Head port, session, and exit codes of servers that are stopped as soon as they are ready."""
    codes: dict[str, int] = {}

    async def serve() -> tuple[int, int]:
        async with serving(options, os.environ, codes, draw_port=iter(ports).__next__) as (servers, port):
            assert not gone(servers.session)
            return port, servers.session

    port, session = asyncio.run(serve())
    assert gone(session)
    return port, session, codes


@pytest.fixture
def other_gym(plan: Plan) -> Iterator[int]:
    """The head port of somebody else's Gym, which is ready."""
    port = free_port()
    log = plan.sweep.path / "other.log"
    with log.open("wb") as stream:
        other = subprocess.Popen(
            [*STAND_IN, "env", "start", "--config", plan.sweep.sweep_config, f"++head_server.port={port}"],
            stdout=stream,
            stderr=stream,
        )
    try:
        wait_for(lambda: "servers ready!" in log.read_text(), log.read_text)
        yield port
    finally:
        other.kill()
        other.wait()


def test_another_gym_on_the_head_port_is_not_taken_for_ours(plan: Plan, other_gym: int) -> None:
    options, free = _options(plan), free_port()
    port, _, codes = _serve_once(options, [other_gym, free])
    assert (port, codes) == (free, {"gym-servers": 0})
    assert "cannot listen" in (options.logs / "gym-servers.1.log").read_text()


def test_an_old_release_is_ready_when_its_log_says_all(plan: Plan, tmp_path: Path) -> None:
    program = tmp_path / "old_gym.py"
    program.write_text(OLD_GYM)
    options = _options(plan, (sys.executable, str(program)))
    _serve_once(options, [free_port()])
    assert "All 2 / 2" in (options.logs / "gym-servers.1.log").read_text()


def test_servers_that_ignore_their_goodbye_are_killed_with_all_they_started(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gym_servers, "GYM_SERVERS", replace(GYM_SERVERS, grace=0.5))
    program, child = tmp_path / "stubborn_gym.py", tmp_path / "child"
    in_a_group_of_its_own = f"import os, time; os.setpgid(0, 0); open({str(child)!r}, 'w').write(str(os.getpid()))"
    stubborn = "import signal, subprocess, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    start_child = f"subprocess.Popen([sys.executable, '-c', {in_a_group_of_its_own + '; time.sleep(60)'!r}])\n"
    program.write_text(stubborn + start_child + OLD_GYM)
    _, session, codes = _serve_once(_options(plan, (sys.executable, str(program))), [free_port()])
    assert gone(session) and codes == {"gym-servers": 137}
    left = Path("/proc") / child.read_text() / "stat"
    assert not left.exists() or left.read_text().rpartition(")")[2].split()[0] == "Z"
