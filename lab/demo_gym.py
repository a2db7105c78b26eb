"""The demo sweep with the real NeMo Gym, against the lab's policy server.

Promise: `python -m lab.demo_gym` serves a policy, runs `reward-profiling demo` with the Gym that `lab.gym_env` made,
and takes the policy down again. Its rollouts never mix with the stand-in's: they go to a sweeps directory of their own.
"""

import os
import subprocess
import sys
from pathlib import Path

from lab.gym_env import gym_installation, link_servers
from lab.policy_server import PolicyServer

SWEEPS = Path("sweeps-gym")


def main() -> int:
    """Run the demo; the exit code is the demo's."""
    installation = gym_installation()
    if installation is None:
        print("there is no NeMo Gym here; run `make gym` first", file=sys.stderr)
        return 2
    servers = installation.uv_venv_dir or link_servers(installation.venv, Path(".gym-servers").absolute())
    with PolicyServer(seed=7) as policy:
        environ = {
            **os.environ,
            "REWARD_PROFILING_SWEEPS_DIR": str(SWEEPS),
            "GYM_ENV_START_POLICY_BASE_URL": policy.url,
            "GYM_ENV_START_POLICY_MODEL_NAME": policy.model,
            "GYM_ENV_START_UV_VENV_DIR": str(servers),
            "GYM_ENV_START_SKIP_VENV_IF_PRESENT": "true",
            "RAY_AUTH_MODE": "disabled",
            # Each job starts servers for every environment; on a small machine one shard is enough.
            "NUM_SHARDS": "1",
        }
        command = [str(Path(sys.executable).with_name("reward-profiling")), "demo", "--gym", str(installation.gym)]
        return subprocess.run(command, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
