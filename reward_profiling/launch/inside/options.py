"""What job.sh tells the supervisor."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reward_profiling.launch.patience import Patience
from reward_profiling.sweep.layout import ShardDir, SweepDir


@dataclass(frozen=True)
class Options:
    """One attempt at one shard.

    `script` is the job script whose parts are started. `policy_url` is set when the policy is served already,
    `serve_policy` when the script has a part that serves it; neither with the collector stand-in. `policy_key` is the
    variable that holds the endpoint's key, `needs` all variables that must be set.
    """

    script: Path
    sweep: SweepDir
    number: int
    attempt: int
    model: str
    policy_url: str | None
    serve_policy: bool
    policy_key: str | None
    needs: tuple[str, ...]
    simulated: bool
    patience: Patience

    @property
    def shard(self) -> ShardDir:
        return self.sweep.shard(self.number)

    @property
    def logs(self) -> Path:
        return self.shard.attempt_logs(self.attempt)


def parse(arguments: Sequence[str]) -> Options:
    """The options as job.sh writes them."""
    parser = argparse.ArgumentParser(prog="python -m reward_profiling.launch.inside", allow_abbrev=False)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--sweep", type=Path, required=True)
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--attempt", type=int, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--policy-url")
    parser.add_argument("--serve-policy", action="store_true")
    parser.add_argument("--policy-key")
    parser.add_argument("--needs", action="append", default=[])
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--ready-timeout", type=float, required=True)
    parser.add_argument("--endpoint-timeout", type=float, required=True)
    parser.add_argument("--stall-after", type=float, required=True)
    parser.add_argument("--probe-interval", type=float, required=True)
    parser.add_argument("--probe-misses", type=int, required=True)
    given = parser.parse_args(arguments)
    return Options(
        script=given.script,
        sweep=SweepDir(given.sweep),
        number=given.shard,
        attempt=given.attempt,
        model=given.model,
        policy_url=given.policy_url,
        serve_policy=given.serve_policy,
        policy_key=given.policy_key,
        needs=tuple(given.needs),
        simulated=given.simulated,
        patience=Patience(
            ready=given.ready_timeout,
            endpoint=given.endpoint_timeout,
            stall=given.stall_after,
            probe_interval=given.probe_interval,
            probe_misses=given.probe_misses,
        ),
    )
