"""The embedded local scheduler: jobs are processes on this machine, their state is files that outlive the caller.

Promise: as `protocol.Scheduler`, on one machine. Of sbatch's options it honours `time` and `signal`; those that choose
among a cluster's nodes mean nothing here. A job finds its id in RP_JOB_ID; variables of Slurm are not imitated, because
programs that see them call srun. The directory must be on a file system with working locks.
"""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from reward_profiling.errors import LaunchError, SchedulerUnknownError
from reward_profiling.files import exclusive_lock, storage_error, write_json, write_text
from reward_profiling.scheduler import slurm_times
from reward_profiling.scheduler.local_jobs import LocalJobs, look
from reward_profiling.scheduler.local_records import MARK, JobFiles, LocalSpec
from reward_profiling.scheduler.processes import send
from reward_profiling.scheduler.protocol import Job, JobSpec
from reward_profiling.scheduler.submission import clean_environment, prepare

DEFAULT_SLOTS = os.cpu_count() or 1
_START_TIMEOUT = 60.0
_KEPT = 30 * 24 * 3600.0  # seconds for which an ended job is remembered


class LocalScheduler:
    """Jobs on this machine, `slots` at a time.

    Between SIGTERM and SIGKILL a job has `kill_wait` seconds, by default as many as Slurm's KillWait. All callers that
    give the same `directory` see the same jobs.
    """

    def __init__(self, directory: Path, slots: int = DEFAULT_SLOTS, *, kill_wait: float = 30.0) -> None:
        if slots < 1:
            raise LaunchError(f"{slots} jobs at a time are too few", place="slots", cure="give 1 or more")
        self._jobs = LocalJobs(directory.resolve())
        self._slots = slots
        self._kill_wait = kill_wait

    @property
    def kind(self) -> str:
        return "local"

    def submit(self, spec: JobSpec) -> str:
        """See `protocol.Scheduler.submit`. Returns once the job's supervisor runs; the script is copied before."""
        prepare(spec)
        record = self._record(spec)
        files = self._draw_number()
        try:
            shutil.copyfile(spec.script, files.script)
            files.script.chmod(0o700)
            write_json(files.spec, dataclasses.asdict(record))
        except OSError as error:
            raise storage_error(files.path, error) from error
        # The supervisor bears the mark as well, so that no process of the job ever lacks it, not even before its exec.
        marks = {MARK: str(files.path), "RP_JOB_ID": f"local-{files.number}"}
        self._start_supervisor(files, {**clean_environment(), **spec.environment, **marks})
        return f"local-{files.number}"

    def queue(self) -> tuple[Job, ...]:
        """See `protocol.Scheduler.queue`. Ended jobs are remembered for 30 days.

        Finding a job whose supervisor was killed, it ends what is left of that job (`local_jobs.settle`).
        """
        return tuple(job.job() for job in self._jobs.all())

    def history(self, ids: Collection[str]) -> Mapping[str, Job]:
        """See `protocol.Scheduler.history`."""
        found = {}
        for job_id in ids:
            files = self._jobs.find(job_id)
            job = look(files) if files else None
            if job is not None:
                found[job_id] = job.job()
        return found

    def cancel(self, job_id: str) -> None:
        """See `protocol.Scheduler.cancel`."""
        files = self._jobs.find(job_id)
        if files is None:
            raise LaunchError(f"{job_id!r} is no id of a local job")
        job = look(files)
        if job is None or job.state.state.ended:
            return
        write_text(files.cancel, "")
        if job.state.supervisor.alive:
            send([job.state.supervisor.pid], signal.SIGTERM)

    def _record(self, spec: JobSpec) -> LocalSpec:
        early = slurm_times.early_signal(spec.options.get("signal") or "B:USR1") if "signal" in spec.options else None
        return LocalSpec(
            name=spec.name,
            directory=str(spec.directory.resolve()),
            log=str(spec.log.resolve()),
            submitted_at=time.time(),
            slots=self._slots,
            kill_wait=self._kill_wait,
            time_limit=slurm_times.seconds(spec.options.get("time") or ""),
            early_signal=early.number if early else None,
            early_lead=early.lead if early else 0,
        )

    def _draw_number(self) -> JobFiles:
        """A new job's folder under a number that was never used before."""
        with exclusive_lock(self._jobs.submit_lock):
            self._prune()
            counter = self._jobs.directory / "last_number"
            try:
                last = int(counter.read_text()) if counter.exists() else 0
                files = self._jobs.files(max([last, *self._jobs.numbers()]) + 1)
                write_text(counter, f"{files.number}\n")
                files.path.mkdir(parents=True)
            except OSError as error:
                raise storage_error(self._jobs.directory, error) from error
        return files

    def _prune(self) -> None:
        for job in self._jobs.all():
            if job.state.ended_at and time.time() - job.state.ended_at > _KEPT:
                shutil.rmtree(self._jobs.files(job.number).path, ignore_errors=True)

    def _start_supervisor(self, files: JobFiles, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-P", "-m", "reward_profiling.scheduler.local_worker", str(files.path)]
        try:
            with files.log.open("wb") as log:
                code = subprocess.run(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    timeout=_START_TIMEOUT,
                    check=False,
                ).returncode
        except subprocess.TimeoutExpired:
            raise SchedulerUnknownError(
                f"the job's supervisor did not start within {_START_TIMEOUT:g} s", place=str(files.path)
            ) from None
        except OSError as error:
            raise storage_error(files.path, error) from error
        if code < 0:
            raise SchedulerUnknownError("the job's starter was killed", place=str(files.path), cure="look for the job")
        if code > 0:
            raise LaunchError("the job's supervisor did not start", place=str(files.log), cure="this file says why")
