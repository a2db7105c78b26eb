"""A shard of the demo collected by the real NeMo Gym: job.sh, its servers, its collector, its stop.

What the job takes for granted about Gym's command line is wrong if this fails: overrides instead of flags, the head's
readiness and instances, quotes around paths, a key that nobody needs.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.gym_env import GymInstallation
from lab.policy_server import PolicyServer
from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.gym_command import GymCommand
from reward_profiling.launch.patience import Patience
from reward_profiling.launch.settings import JobSettings
from reward_profiling.manifest.load import load_manifest
from reward_profiling.sweep.completeness import Plan, load_plan, look
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.materialize import materialize
from reward_profiling.sweep.request import request_from
from reward_profiling_tests.jobs import RunningJob, gone
from reward_profiling_tests.parts import REPOSITORY

pytestmark = pytest.mark.gym

MANIFEST = REPOSITORY / "manifests" / "demo.yaml"
PATIENCE = Patience(ready=240, endpoint=10, stall=120, probe_interval=1, probe_misses=5)


@pytest.fixture
def environ(gym: GymInstallation, gym_server_venvs: Path) -> dict[str, str]:
    """Gym's servers start from venvs that are there; this much comes from the environment, not from the manifest."""
    return {
        "PATH": os.environ["PATH"],
        "REWARD_PROFILING_GYM": str(gym.gym),
        "GYM_ENV_START_UV_VENV_DIR": str(gym_server_venvs),
        "GYM_ENV_START_SKIP_VENV_IF_PRESENT": "true",
        "RAY_AUTH_MODE": "disabled",
    }


@pytest.fixture
def sweep(tmp_path: Path) -> SweepDir:
    """One shard of 3 environments x 4 tasks x 2 repeats, in a folder whose name Gym would misread without quotes."""
    limits = {"materialize.limit_per_entry": 4, "gym_eval_run.num_repeats": 2, "num_shards": 1}
    loaded = load_manifest(MANIFEST, environ={}, overrides=limits)
    materialize(request_from(loaded), tmp_path / "sweeps a=b")
    return SweepDir(tmp_path / "sweeps a=b" / "demo")


@pytest.fixture
def job(sweep: SweepDir, environ: dict[str, str], policy: PolicyServer) -> Iterator[RunningJob]:
    served = {"gym_env_start.policy_base_url": policy.url, "gym_env_start.policy_model_name": policy.model}
    loaded = load_manifest(sweep.manifest, environ=environ, overrides=served)
    settings = JobSettings.from_manifest(loaded, gym=GymCommand.find(environ), environ=environ, patience=PATIENCE)
    plan: Plan = load_plan(sweep, {})
    running = RunningJob(plan, settings, environment={"RAY_AUTH_MODE": "disabled"})
    yield running
    if running.process.poll() is None:
        running.process.terminate()
    running.process.wait(60)


def test_the_real_gym_collects_a_shard(
    job: RunningJob, sweep: SweepDir, gym: GymInstallation, policy: PolicyServer
) -> None:
    servers = job.part("gym-servers")
    routes = not gym.version.startswith(("0.4", "0.5", "0.6"))
    if routes:  # older releases end at the first failure
        policy.set_mode("fail", status=400, times=1)
    record = job.wait(300)
    policy.set_mode("ok")
    assert record.gym_version == gym.version and not record.simulated
    assert record.before is not None and record.before.outstanding == 24
    assert record.after is not None and record.after.succeeded == 24 - routes, job.log()
    assert record.reason is (Reason.INCOMPLETE if routes else Reason.COMPLETE)
    assert record.exit_codes["collector"] == 0
    assert gone(servers)
    status = look(load_plan(sweep, {}), 0)
    assert {label: counts.expected for label, counts in status.by_label.items()} == dict.fromkeys(
        ("geography", "arithmetic", "scheduling"), 8
    )
    assert not status.simulated
    rows = [json.loads(line) for line in job.shard.rollouts.read_bytes().splitlines()]
    assert {row["reward"] for row in rows} == {0.0, 1.0}
    failures = [json.loads(line) for line in job.shard.failures.read_bytes().splitlines()]
    assert [row["_ng_failure_class"] for row in failures] == ["agent_run_error"] * routes
    written = {path.name for path in job.shard.path.iterdir()}
    assert "rollouts_aggregate_metrics.json" not in written, "aggregation ran"
