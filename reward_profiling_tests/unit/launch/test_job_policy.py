"""A job and its policy: asked before anything is started, watched while the collector runs, served by the job itself.

The stand-in asks no policy, so these jobs are told that it is no stand-in.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.policy_server import PolicyServer
from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.gym_command import GymCommand
from reward_profiling.launch.policy_settings import Endpoint, Engine
from reward_profiling.sweep.completeness import Plan
from reward_profiling_tests import jobs
from reward_profiling_tests.jobs import RunningJob, gone, one_shard
from reward_profiling_tests.parts import REPOSITORY

SLOW = {"REWARD_PROFILING_SIMULATE_ROLLOUTS_PER_SECOND": "4"}
GYM = GymCommand(jobs.STAND_IN)

# What `vllm serve` looks like from a job: an argument list, a port, /health and /v1.
VLLM = f"""\
#!{sys.executable}
import os, sys
sys.path.insert(0, {str(REPOSITORY)!r})
from lab.policy_server import PolicyServer
import signal
command, model, options = sys.argv[1], sys.argv[2], sys.argv[3:]
assert command == "serve" and "--max-num-seqs" in options and os.environ["RP_TEST_ENGINE"] == "two words"
if "--fail" in options:
    sys.exit("RuntimeError: no GPU")
with PolicyServer(port=int(options[options.index("--port") + 1]), model=model):
    signal.sigwait([signal.SIGTERM])
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return one_shard(tmp_path)


@pytest.fixture
def policy() -> Iterator[PolicyServer]:
    with PolicyServer() as server:
        yield server


@contextlib.contextmanager
def _job(plan: Plan, environment: dict[str, str] | None = None, **changes: Any) -> Iterator[RunningJob]:
    job = RunningJob(plan, jobs.settings(gym=GYM, **changes), environment=environment)
    try:
        yield job
    finally:
        with contextlib.suppress(ProcessLookupError):
            job.process.kill()
        job.process.wait()


def test_an_unreachable_policy_ends_the_job_before_it_starts_anything(plan: Plan) -> None:
    with _job(plan, policy=Endpoint("http://127.0.0.1:9/v1")) as job:
        record = job.wait()
    assert record.reason is Reason.POLICY_UNREACHABLE
    assert "http://127.0.0.1:9/v1 did not answer within 2 s" in record.message
    assert not list(job.logs.glob("gym*"))


def test_a_policy_that_does_not_know_the_model_costs_no_attempt(plan: Plan, policy: PolicyServer) -> None:
    policy.set_mode("fail", status=404, message="The model `other` does not exist.")
    with _job(plan, policy=Endpoint(policy.url), model="other") as job:
        record = job.wait()
    assert record.reason is Reason.POLICY_REFUSED and "does not serve other" in record.message
    assert "it lists lab-policy" in record.message
    assert not list(job.logs.glob("gym*"))


def test_a_model_under_an_unlisted_name_is_asked_once_and_taken(plan: Plan, policy: PolicyServer) -> None:
    with _job(plan, policy=Endpoint(policy.url), model="alias") as job:
        assert job.wait().reason is Reason.COMPLETE
    assert policy.state()["requests"] == 1


def test_a_policy_that_goes_away_ends_the_job(plan: Plan) -> None:
    policy = PolicyServer()
    with _job(plan, SLOW, policy=Endpoint(policy.url), model="lab-policy") as job:
        job.wait_for_rows()
        policy.close()
        record = job.wait()
    assert record.reason is Reason.POLICY_LOST and "did not answer 3 times in a row" in record.message
    assert record.exit_codes == {"gym-servers": 0, "collector": 143}


def _engine(folder: Path, *args: str) -> dict[str, Any]:
    program = folder / "bin" / "vllm"
    program.parent.mkdir()
    program.write_text(VLLM)
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    engine = Engine(64, args, {"RP_TEST_ENGINE": "two words"}, {"RP_TEST_KEY": "RP_TEST_SOURCE"})
    return {"policy": engine, "model": "tiny", "environment": {"PATH": path, "RP_TEST_SOURCE": "x"} | SLOW}


def test_a_job_serves_its_own_policy(plan: Plan, tmp_path: Path) -> None:
    with _job(plan, **_engine(tmp_path)) as job:
        job.wait_for_rows()
        engine = job.part("policy")
        assert b"RP_TEST_KEY=x" in Path(f"/proc/{engine}/environ").read_bytes()
        record = job.wait()
    assert record.reason is Reason.COMPLETE
    assert record.exit_codes == {"collector": 0, "gym-servers": 0, "policy": 143}
    assert gone(engine)
    assert "++policy_base_url=http://127.0.0.1:" in (job.logs / "gym-servers.1.log").read_text()


def test_an_engine_that_does_not_start_says_why(plan: Plan, tmp_path: Path) -> None:
    with _job(plan, **_engine(tmp_path, "--fail")) as job:
        record = job.wait()
    assert record.reason is Reason.POLICY_NOT_READY and "no GPU" in record.message
    assert not list(job.logs.glob("gym*"))


def test_an_engine_that_ends_ends_the_job(plan: Plan, tmp_path: Path) -> None:
    with _job(plan, **_engine(tmp_path)) as job:
        job.wait_for_rows()
        os.kill(job.part("policy"), signal.SIGKILL)
        record = job.wait()
    assert record.reason is Reason.POLICY_DIED
    assert record.exit_codes == {"collector": 143, "gym-servers": 0, "policy": 137}
