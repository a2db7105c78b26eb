"""What a scheduler is to this project: submit, queue, history, cancel.

Promise: an implementation answers from the scheduler's own records or raises `SchedulerUnknownError`; an empty answer
never stands for a failed question. No method waits for a job. All four are safe to call from several processes.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol


class JobState(StrEnum):
    """The states of a job, in Slurm's words; `LOST` is ours, for a job of which no record is left."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETING = "COMPLETING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    BOOT_FAIL = "BOOT_FAIL"
    DEADLINE = "DEADLINE"
    LOST = "LOST"

    @property
    def ended(self) -> bool:
        """Whether a job in this state will never run again. COMPLETING has not ended: its processes may still write."""
        return self not in _LIVE


_LIVE = frozenset({JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED, JobState.COMPLETING})


@dataclass(frozen=True)
class JobSpec:
    """One submission.

    `name` is deterministic per shard: a scheduler never runs two jobs of one name and user at the same time
    (`--dependency=singleton`); a second one waits. `options` are the scheduler's own long options without dashes
    (`{"nodes": "10", "exclusive": None}`; None is a flag). `environment` is exported to the job on top of the
    submitter's, and never written to disk by us nor put into an argument: that is how a secret reaches a job.
    """

    name: str
    script: Path
    directory: Path
    log: Path
    options: Mapping[str, str | None] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """What the scheduler says of one job.

    Times are Unix seconds and `exit_code` is that of the script, 128 + n after a death by signal n; all are None where
    the scheduler does not say.
    """

    id: str
    name: str
    state: JobState
    reason: str = ""
    nodes: tuple[str, ...] = ()
    submitted_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None

    @property
    def live(self) -> bool:
        return not self.state.ended


class Scheduler(Protocol):
    """A place where jobs run."""

    @property
    def kind(self) -> str:
        """`slurm` or `local`: how a person and the ledger name this scheduler."""
        ...

    def submit(self, spec: JobSpec) -> str:
        """Hand over one job and return its id.

        Raises `LaunchError` when the scheduler refuses the job as such (bad option, no such partition), and
        `SchedulerUnknownError` when it is not known whether the job was taken: look for its name in `queue` first.
        """
        ...

    def queue(self) -> tuple[Job, ...]:
        """All jobs of this user that the scheduler still remembers, live or ended, in one question."""
        ...

    def history(self, ids: Collection[str]) -> Mapping[str, Job]:
        """The last known state of jobs that `queue` may have forgotten. Ids without any record are left out."""
        ...

    def cancel(self, job_id: str) -> None:
        """Ask for the end of a job; a job that has ended already is no error."""
        ...
