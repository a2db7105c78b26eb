"""Jobs for tests: a small sweep whose servers the collector stand-in knows, settings, and job.sh run as a process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reward_profiling.launch.exit_record import ExitRecord, read_exit_record
from reward_profiling.launch.gym_command import GymCommand
from reward_profiling.launch.inside.parts import session_members
from reward_profiling.launch.patience import Patience
from reward_profiling.launch.script import render_job
from reward_profiling.launch.settings import JobSettings
from reward_profiling.sweep.completeness import Plan, load_plan
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.materialize import materialize
from reward_profiling_tests import sweeps

SERVERS = """\
env_a: {resources_servers: {mcqa: {entrypoint: app.py}}}
agent_a:
  responses_api_agents:
    simple_agent: {entrypoint: app.py, resources_server: {type: resources_servers, name: env_a}}
"""
PATIENCE = Patience(ready=30, endpoint=2, stall=30, probe_interval=0.2, probe_misses=3)
STAND_IN = (sys.executable, "-P", "-m", "reward_profiling.simulate")
DEADLINE = 60.0


def one_shard(folder: Path, tasks: int = 5, repeats: int = 4) -> Plan:
    """A sweep of one shard with `tasks` x `repeats` rollouts."""
    entries = [sweeps.entry(folder / "data", "alpha", tasks, repeats)]
    materialize(sweeps.request(entries, 1, sweep_config=SERVERS), folder / "sweeps")
    return load_plan(SweepDir(folder / "sweeps" / "tiny"), {})


def settings(**changes: Any) -> JobSettings:
    """The settings of a job with the stand-in."""
    base = JobSettings(
        gym=GymCommand(STAND_IN, simulated=True),
        policy=None,
        model="unused",
        concurrency=4,
        options={"nodes": "1"},
        server_overrides=('++policy_model_name="unused"', '++policy_base_url="unused"'),
        model_params=(),
        collector_overrides=("++disable_aggregation=true", "++route_failures_to_sidecar=true"),
        patience=PATIENCE,
    )
    return replace(base, **changes)


class RunningJob:
    """job.sh as a plain process."""

    def __init__(
        self, plan: Plan, job_settings: JobSettings, attempt: int = 1, environment: Mapping[str, str] | None = None
    ) -> None:
        self.shard: ShardDir = plan.sweep.shard(0)
        self.attempt = attempt
        script = self.shard.job_script
        script.write_text(render_job(self.shard, plan.sweep, attempt, job_settings))
        self.logs = self.shard.attempt_logs(attempt)
        self.logs.mkdir(parents=True)
        with (self.logs / "job.log").open("ab") as log:
            self.process = subprocess.Popen(
                ["bash", str(script)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "RP_JOB_ID": "local-7", **(environment or {})},
                start_new_session=True,
            )

    def wait(self, deadline: float = DEADLINE) -> ExitRecord:
        """The exit record, once the job has ended, which it must within `deadline` seconds."""
        try:
            self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"the job did not end:\n{self.log()}") from None
        record = read_exit_record(self.shard.exit_record(self.attempt))
        assert record is not None, self.log()
        return record

    def signal(self, number: signal.Signals) -> None:
        """A signal to the batch script alone, as a scheduler sends it."""
        self.process.send_signal(number)

    def part(self, name: str) -> int:
        """The process id of a part, once it has been started."""
        return wait_for(lambda: self._part(name), lambda: f"{name} was not started:\n{self.log()}")

    def _part(self, name: str) -> int | None:
        marks = {"collector": b"run\0--no-serve", "gym-servers": b"env\0start", "policy": b"serve\0"}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    command = (entry / "cmdline").read_bytes()
                    parent = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
                except OSError:
                    continue
                if parent == self.process.pid and marks[name] in command:
                    return int(entry.name)
        return None

    def wait_for_rows(self, rows: int = 1) -> None:
        """Until so many rows are in the rollouts."""
        path = self.shard.rollouts
        wait_for(
            lambda: path.exists() and path.read_bytes().count(b"\n") >= rows, lambda: f"too few rows:\n{self.log()}"
        )

    def log(self) -> str:
        """All logs of the attempt."""
        return "\n".join(
            f"--- {path.name}\n{path.read_text(errors='replace')}" for path in sorted(self.logs.glob("*.log"))
        )


def wait_for(probe: Callable[[], Any], complaint: Callable[[], str]) -> Any:
    """What `probe` gives, once it is truthy."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(0.02)
    raise AssertionError(complaint())


def gone(session: int) -> bool:
    """Whether nothing of a session is left."""
    return not session_members(session)
