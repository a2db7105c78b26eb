"""All jobs of the local scheduler under one directory, and what becomes of one whose supervisor died.

Promise: a job is reported as ended only when no process of it is left that could still write. Reading ends what is left
of a job without a supervisor, because nobody else would.

    <directory>/jobs/            one folder per job, see `local_records`
    <directory>/last_number, submit.lock, admission.lock
"""

import dataclasses
import re
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from reward_profiling.errors import SchedulerUnknownError, StorageError
from reward_profiling.files import exclusive_lock
from reward_profiling.scheduler.local_records import MARK, JobFiles, LocalJob, LocalState
from reward_profiling.scheduler.processes import marked, send
from reward_profiling.scheduler.protocol import JobState

_ID = re.compile(r"local-(\d+)")


@dataclass
class LocalJobs:
    """All jobs under one directory; remembers those that have ended, which never change."""

    directory: Path
    _ended: dict[int, LocalJob] = field(default_factory=dict)

    @property
    def admission_lock(self) -> Path:
        """Held by the supervisor that decides whether its job may start."""
        return self.directory / "admission.lock"

    @property
    def submit_lock(self) -> Path:
        """Held while a job's number is drawn."""
        return self.directory / "submit.lock"

    def files(self, number: int) -> JobFiles:
        return JobFiles(self.directory / "jobs" / f"{number:06d}")

    def find(self, job_id: str) -> JobFiles | None:
        """The files of a job by its id, None for an id that is not ours."""
        found = _ID.fullmatch(job_id)
        return self.files(int(found.group(1))) if found else None

    def numbers(self) -> list[int]:
        """The numbers drawn so far and not yet pruned, in order."""
        try:
            names = [entry.name for entry in (self.directory / "jobs").iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SchedulerUnknownError(str(error.strerror), place=str(self.directory)) from error
        return sorted(int(name) for name in names if name.isdecimal())

    def all(self) -> list[LocalJob]:
        """Every job, oldest first, as it stands now."""
        jobs = []
        for number in self.numbers():
            job = self._ended.get(number) or look(self.files(number))
            if job is not None:
                jobs.append(job)
                if job.state.state.ended:
                    self._ended[number] = job
        return jobs


def look(files: JobFiles) -> LocalJob | None:
    """One job as it stands now: what its supervisor wrote, or, where that died, what is left of the job."""
    job = files.read()
    if job is None or job.state.state.ended:
        return job
    if not job.state.supervisor.here:
        raise SchedulerUnknownError(
            f"this job runs on {job.state.supervisor.host}",
            place=str(files.path),
            cure="ask there, or remove this folder if that machine is gone",
        )
    return job if job.state.supervisor.alive else settle(files)


def settle(files: JobFiles) -> LocalJob | None:
    """End a job whose supervisor is gone, step by step at each call: SIGTERM, SIGKILL after its kill wait, the record.

    As long as one of its processes may still write, the job is COMPLETING.
    """
    try:
        with exclusive_lock(files.lock):
            job = files.read()
            if job is None or job.state.state.ended or job.state.supervisor.alive:
                return job
            settled = _settled(files, job)
            if settled != job.state:
                files.write_state(settled)
            return dataclasses.replace(job, state=settled)
    except StorageError as error:
        raise SchedulerUnknownError(error.problem, place=error.place, cure=error.cure) from error


def _settled(files: JobFiles, job: LocalJob) -> LocalState:
    now = time.time()
    if left := marked(MARK, str(files.path)):
        if job.state.orphaned_at is None:
            send(left, signal.SIGTERM)
            return dataclasses.replace(
                job.state, state=JobState.COMPLETING, reason="its supervisor died", orphaned_at=now
            )
        if now - job.state.orphaned_at > job.spec.kill_wait:
            send(left, signal.SIGKILL)
        return job.state
    if files.cancel.exists():
        return dataclasses.replace(job.state, state=JobState.CANCELLED, reason="cancelled", ended_at=now)
    if job.state.supervisor.of_this_boot:
        return dataclasses.replace(job.state, state=JobState.FAILED, reason="its supervisor died", ended_at=now)
    return dataclasses.replace(job.state, state=JobState.NODE_FAIL, reason="the machine was restarted", ended_at=now)
