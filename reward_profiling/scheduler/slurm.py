"""Slurm by the commands of this machine: sbatch, squeue, sacct, scontrol, scancel.

Promise: as `protocol.Scheduler`. A question that fails, times out or cannot be read raises `SchedulerUnknownError`. A
job's environment reaches it through sbatch's own environment, never through an argument or a file of ours.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from reward_profiling.errors import LaunchError, SchedulerUnknownError
from reward_profiling.scheduler import slurm_records
from reward_profiling.scheduler.commands import Answer, run
from reward_profiling.scheduler.protocol import Job, JobSpec
from reward_profiling.scheduler.submission import clean_environment, prepare

NO_SLURM = "choose --scheduler local, or run where sbatch is on the PATH and a slurm.conf is found"

_SUBMITTED = re.compile(r"(\d+)(;\S+)?")  # `;cluster` when several clusters are known
# What sbatch is told by us, and what would make its answer another one than the id of one job.
_OURS = frozenset(
    {"job-name", "output", "open-mode", "chdir", "dependency", "export", "export-file", "parsable", "requeue"}
    | {"no-requeue", "array", "wrap", "wait", "test-only", "clusters", "cluster-constraint", "help", "usage", "version"}
)
# Failures after which a job may nevertheless exist, or that say nothing of the job as such; all else is a refusal.
_NOT_ANSWERED = re.compile(
    r"unable to contact|timed out|zero bytes|connection|communication|transport endpoint|temporarily|standby|"
    r"unexpected message|message (send|receive)|authentic|munge|credential|protocol version|network|no route|"
    r"broken pipe|i/o error|incompatible versions|retrying",
    re.IGNORECASE,
)
_NOT_CONFIGURED = re.compile(r"configuration source|fetch_config|DNS SRV", re.IGNORECASE)
_ENDED_ALREADY = re.compile(r"already completing or completed|invalid job id", re.IGNORECASE)
_NO_ACCOUNTING = re.compile(r"accounting storage is disabled", re.IGNORECASE)


class SlurmScheduler:
    """A cluster that this machine's Slurm commands talk to; `timeout` is for each of them, in seconds."""

    def __init__(self, *, timeout: float = 60.0) -> None:
        self._timeout = timeout

    @property
    def kind(self) -> str:
        return "slurm"

    def submit(self, spec: JobSpec) -> str:
        """See `protocol.Scheduler.submit`. The options we set ourselves are refused in `spec.options`."""
        prepare(spec)
        if taken := sorted(_OURS.intersection(spec.options)):
            raise LaunchError(f"the sbatch option {taken[0]} is set for every job", cure=f"remove {taken[0]}")
        answer = run(
            ("sbatch", *_options(spec), str(spec.script)),
            environment={**clean_environment(), **spec.environment},
            timeout=self._timeout,
        )
        if answer.code != 0:
            raise _submission_error(answer)
        found = [_SUBMITTED.fullmatch(line.strip()) for line in answer.stdout.splitlines()]
        ids = [match.group(1) for match in found if match]
        if not ids:
            raise answer.unknown(f"no job id in {answer.stdout[:80]!r}")
        return ids[-1]

    def queue(self) -> tuple[Job, ...]:
        """See `protocol.Scheduler.queue`. Slurm forgets ended jobs after its MinJobAge, 300 s by default."""
        command = ("squeue", "--me", "--states=all", "--noheader", f"--Format={slurm_records.QUEUE_FORMAT}")
        answer = self._ask(command)
        if answer.code != 0:
            raise answer.unknown()
        try:
            return slurm_records.read_queue(answer.stdout)
        except ValueError as error:
            raise answer.unknown(str(error)) from error

    def history(self, ids: Collection[str]) -> Mapping[str, Job]:
        """See `protocol.Scheduler.history`: from squeue, else from sacct, else from scontrol.

        An id that is none of Slurm's (another scheduler's) has no record here.
        """
        wanted = {job_id for job_id in ids if job_id.isdecimal()}
        if not wanted:
            return {}
        found = {job.id: job for job in self.queue() if job.id in wanted}
        accounting = None
        if missing := wanted - found.keys():
            accounting = self._accounting(missing, found)
        for job_id in sorted(wanted - found.keys()):
            if job := self._details(job_id):
                found[job_id] = job
        if accounting is not None and wanted - found.keys():
            raise accounting
        return found

    def cancel(self, job_id: str) -> None:
        """See `protocol.Scheduler.cancel`."""
        if not job_id.isdecimal():
            raise LaunchError(f"{job_id!r} is no Slurm job id")
        answer = self._ask(("scancel", job_id))
        if answer.code != 0 and not _ENDED_ALREADY.search(answer.stderr):
            raise answer.unknown()

    def configured(self) -> bool:
        """Whether Slurm's commands are here and know a cluster; raises SchedulerUnknownError when that is down."""
        answer = self._ask(("squeue", "--me", "--noheader"))
        if not answer.found or (answer.code != 0 and _NOT_CONFIGURED.search(answer.stderr)):
            return False
        if answer.code != 0:
            raise answer.unknown()
        return True

    def _accounting(self, missing: Collection[str], found: dict[str, Job]) -> SchedulerUnknownError | None:
        """Add what sacct knows to `found`; an error to raise if nobody else knows the rest.

        A job that is live by sacct and unknown to the controller is a runaway record, and tells nothing.
        """
        try:
            answer = self._ask(("sacct", *slurm_records.ACCOUNTING_OPTIONS, f"--jobs={','.join(sorted(missing))}"))
        except SchedulerUnknownError as error:
            return error
        if not answer.found or _NO_ACCOUNTING.search(answer.stderr):
            return None
        if answer.code != 0:
            return answer.unknown()
        try:
            jobs = slurm_records.read_accounting(answer.stdout)
        except ValueError as error:
            return answer.unknown(str(error))
        found.update({job.id: job for job in jobs if job.id in missing and job.state.ended})
        return None

    def _details(self, job_id: str) -> Job | None:
        """What the controller still knows of one job, whoever's it is; None when it knows none of this id."""
        answer = self._ask(("scontrol", "--oneliner", "show", "job", job_id))
        if answer.code != 0:
            if _ENDED_ALREADY.search(answer.stderr):
                return None
            raise answer.unknown()
        try:
            return slurm_records.read_details(answer.stdout, job_id)
        except ValueError as error:
            raise answer.unknown(str(error)) from error

    def _ask(self, command: Sequence[str]) -> Answer:
        environment = {**clean_environment(), "SLURM_TIME_FORMAT": "%s"}
        return run(command, environment=environment, timeout=self._timeout)


def _options(spec: JobSpec) -> list[str]:
    ours = {
        "parsable": None,
        "no-requeue": None,
        "dependency": "singleton",
        "export": "ALL",
        "open-mode": "append",
        "job-name": spec.name,
        "chdir": str(spec.directory),
        "output": str(spec.log).replace("%", "%%"),  # a percent sign starts one of sbatch's patterns
    }
    return [f"--{name}" if value is None else f"--{name}={value}" for name, value in {**spec.options, **ours}.items()]


def _submission_error(answer: Answer) -> LaunchError | SchedulerUnknownError:
    if not answer.found or _NOT_CONFIGURED.search(answer.stderr):
        return LaunchError("there is no Slurm here", place="sbatch", cure=NO_SLURM)
    # A refusal by the controller stands in the last line, after sbatch's remarks on single options.
    lines = [line.removeprefix("sbatch: ").removeprefix("error: ") for line in answer.stderr.splitlines() if line]
    if answer.code < 0 or not lines or _NOT_ANSWERED.search(answer.stderr):
        return answer.unknown()
    return LaunchError(" / ".join(lines), place="sbatch", cure="correct the manifest's sbatch block")
