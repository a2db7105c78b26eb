"""How a code location runs sweeps: which scheduler, which Gym, how often to look, and how long one run may watch.

Promise: configuration only; whatever is missing is refused by `open_session`, before anything is submitted.
"""

import os
from collections.abc import Mapping
from typing import Literal, cast

import dagster as dg

from reward_profiling.errors import LaunchError
from reward_profiling.launch.gym_command import VARIABLE as GYM_VARIABLE
from reward_profiling.launch.session import Session, open_session
from reward_profiling.scheduler.protocol import Scheduler
from reward_profiling.sweep.layout import SweepDir

SCHEDULER_VARIABLE = "REWARD_PROFILING_SCHEDULER"

_POLL_SECONDS = {"slurm": 10.0, "local": 1.0}


class SweepLauncher(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Opens the launch plane of a sweep.

    `scheduler` is `slurm`, `local` or `auto` (Slurm where it is found). `gym` is a `gym` executable or `simulated`;
    None takes `gym` from PATH. `poll_seconds` is the time between two looks, None the scheduler's own (Slurm 10 s,
    local 1 s). A run watches for at most `watch_seconds`; the jobs of its shards go on when it ends.
    """

    scheduler: str = "auto"
    gym: str | None = None
    poll_seconds: float | None = None
    watch_seconds: float = 86_400.0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "SweepLauncher":
        """The resource that the variables of `environ` ask for; empty ones count as unset."""
        return cls(scheduler=environ.get(SCHEDULER_VARIABLE) or "auto", gym=environ.get(GYM_VARIABLE) or None)

    def open(self, sweep: SweepDir, scheduler: Scheduler | None = None) -> Session:
        """The session of a materialized sweep; raises `RewardProfilingError` when it cannot run.

        Looking for a scheduler asks it a question; one that was found for another sweep of the location saves it.
        """
        return open_session(sweep, environ=os.environ, scheduler=scheduler or self._kind(), gym=self.gym)

    def poll(self, session: Session) -> float:
        """Seconds between two looks at the jobs of `session`."""
        return self.poll_seconds if self.poll_seconds is not None else _POLL_SECONDS[session.launcher.scheduler.kind]

    def _kind(self) -> Literal["slurm", "local"] | None:
        if self.scheduler == "auto":
            return None
        if self.scheduler not in _POLL_SECONDS:
            raise LaunchError(
                f"{self.scheduler!r} is no scheduler", place=SCHEDULER_VARIABLE, cure="use slurm, local or auto"
            )
        return cast(Literal["slurm", "local"], self.scheduler)
