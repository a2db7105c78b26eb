"""What a job learns about itself on the way to its exit record."""

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from reward_profiling.launch.exit_record import ExitRecord
from reward_profiling.launch.inside.ending import Ending
from reward_profiling.launch.inside.options import Options
from reward_profiling.scheduler.hostlist import expand
from reward_profiling.sweep.status import Counts


@dataclass
class Draft:
    """An exit record in the making; the fields are the record's."""

    options: Options
    environment: Mapping[str, str]
    started_at: float = field(default_factory=time.time)
    ready_at: float | None = None
    first_row_at: float | None = None
    before: Counts | None = None
    exit_codes: dict[str, int] = field(default_factory=dict)
    gym_version: str | None = None

    def saw_rows(self) -> None:
        """Put down when the first new row was seen."""
        self.first_row_at = self.first_row_at or time.time()

    def record(self, ending: Ending, after: Counts | None) -> ExitRecord:
        """The record of a job that ends now."""
        return ExitRecord(
            job_id=self.environment.get("SLURM_JOB_ID") or self.environment.get("RP_JOB_ID"),
            attempt=self.options.attempt,
            shard=self.options.shard.name,
            nodes=_nodes(self.environment),
            reason=ending.reason,
            message=self._without_secrets(ending.message),
            started_at=self.started_at,
            ready_at=self.ready_at,
            first_row_at=self.first_row_at,
            ended_at=time.time(),
            before=self.before,
            after=after,
            exit_codes=dict(self.exit_codes),
            gym_version=self.gym_version,
            simulated=self.options.simulated,
        )

    def _without_secrets(self, message: str) -> str:
        """A line of somebody else's log may quote what it was given."""
        key = self.options.policy_key
        for name in (*self.options.needs, *([key] if key else [])):
            if value := self.environment.get(name):
                message = message.replace(value, f"${name}")
        return message


def _nodes(environment: Mapping[str, str]) -> tuple[str, ...]:
    listed = environment.get("SLURM_JOB_NODELIST")
    if listed is None:
        return (socket.gethostname(),)
    try:
        return expand(listed)
    except ValueError:
        return (listed,)
