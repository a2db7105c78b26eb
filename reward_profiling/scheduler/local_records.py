"""The files of one local job, and what they say.

Promise: a job exists from the moment its supervisor has written `state.json`, and that file has one writer at a time:
the supervisor while it lives, afterwards `local_jobs.settle` under the job's lock. An ended state never changes.

    <directory>/jobs/000017/   job.json       what was submitted (no environment, hence no secret)
                               script         the script as submitted
                               state.json     where the job stands, and its supervisor's identity
                               cancel         present once the end was asked for
                               supervisor.log what the supervisor complained of
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from reward_profiling.errors import SchedulerUnknownError
from reward_profiling.files import write_json
from reward_profiling.scheduler.processes import ProcessIdentity, identity_from_record
from reward_profiling.scheduler.protocol import Job, JobState

MARK = "RP_JOB_RECORD"
"""In each process of a job: the variable that names the job's folder, by which its processes are found."""


@dataclass(frozen=True)
class LocalSpec:
    """What was submitted. `time_limit`, `lead` and `kill_wait` are seconds; `slots` counts jobs at a time."""

    name: str
    directory: str
    log: str
    submitted_at: float
    slots: int
    kill_wait: float
    time_limit: int | None
    early_signal: int | None
    early_lead: int


@dataclass(frozen=True)
class LocalState:
    """Where a job stands. `orphaned_at` is when its supervisor was first missed; times are Unix seconds."""

    state: JobState
    supervisor: ProcessIdentity
    reason: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    orphaned_at: float | None = None


@dataclass(frozen=True)
class LocalJob:
    """One job as its files tell it."""

    number: int
    spec: LocalSpec
    state: LocalState

    def job(self) -> Job:
        """The same in the Protocol's words."""
        state = self.state
        return Job(
            id=f"local-{self.number}",
            name=self.spec.name,
            state=state.state,
            reason=state.reason,
            nodes=(state.supervisor.host,) if state.started_at else (),
            submitted_at=self.spec.submitted_at,
            started_at=state.started_at,
            ended_at=state.ended_at,
            exit_code=state.exit_code,
        )


@dataclass(frozen=True)
class JobFiles:
    """The paths of one job, and reading and writing them."""

    path: Path

    @property
    def spec(self) -> Path:
        return self.path / "job.json"

    @property
    def script(self) -> Path:
        return self.path / "script"

    @property
    def state(self) -> Path:
        return self.path / "state.json"

    @property
    def cancel(self) -> Path:
        return self.path / "cancel"

    @property
    def log(self) -> Path:
        return self.path / "supervisor.log"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def number(self) -> int:
        return int(self.path.name)

    def write_state(self, state: LocalState) -> None:
        write_json(self.state, dataclasses.asdict(state))

    def read_spec(self) -> LocalSpec:
        return LocalSpec(**_load(self.spec))

    def read(self) -> LocalJob | None:
        """The job as written, None while it is not (or no longer) submitted."""
        try:
            entry = _load(self.state)
            entry["state"] = JobState(entry["state"])
            entry["supervisor"] = identity_from_record(entry["supervisor"])
            return LocalJob(self.number, self.read_spec(), LocalState(**entry))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SchedulerUnknownError(
                f"the job's record cannot be read ({error})", place=str(self.path), cure="mend it or remove this folder"
            ) from error


def _load(path: Path) -> dict[str, Any]:
    content = orjson.loads(path.read_bytes())
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds no object")
    return content
