"""The supervisor of one local job, a detached process: waits for its turn, runs the script, writes how it ended.

Promise: the job's end is written only after its last process is gone; a time limit or a cancellation reaches the job
as SIGTERM to the script's process group, and as SIGKILL to all that is left after the kill wait. The environment of the
job is this process's own, which only this user can read; it is never written down.

Started by `local.LocalScheduler` as `python -m reward_profiling.scheduler.local_worker JOB_FOLDER`; returns as soon as
the job exists (`state.json` is written by the process that stays).
"""

import contextlib
import dataclasses
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from reward_profiling.files import exclusive_lock
from reward_profiling.scheduler.local_admission import may_start
from reward_profiling.scheduler.local_jobs import LocalJobs
from reward_profiling.scheduler.local_records import MARK, JobFiles, LocalSpec, LocalState
from reward_profiling.scheduler.processes import identify, marked, send
from reward_profiling.scheduler.protocol import JobState

_POLL = 0.2  # seconds between looks at the other jobs while waiting, and at what is left of one's own
_LONGEST_SLEEP = 5.0  # a cancellation's signal may be lost, its file is not
_CHILD_ENDED, _ASKED_TO_END = signal.SIGCHLD, signal.SIGTERM
# What the submitter ignores (nohup, a shell's background) would be ignored here and could not be trapped by the script.
_INHERITED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Verdict:
    """Why a job that has not ended by itself was ended."""

    state: JobState
    reason: str


_OVERDUE = Verdict(JobState.TIMEOUT, "time limit")


class Supervisor:
    """Runs one job from its submission to its end."""

    def __init__(self, files: JobFiles) -> None:
        self._files = files
        self._spec: LocalSpec = files.read_spec()
        identity = identify(os.getpid())
        if identity is None:
            raise RuntimeError("this process does not exist")
        self._state = LocalState(JobState.PENDING, identity)
        self._told_to_end = False

    def announce(self) -> None:
        """Make the job exist."""
        self._write()

    def run(self) -> None:
        """Wait for the job's turn, run it, and write its end."""
        if verdict := self._wait_for_turn():
            self._write(state=verdict.state, reason=verdict.reason, ended_at=time.time())
            return
        try:
            batch = self._start()
        except OSError as error:
            reason = f"the script cannot be run: {error.strerror}"
            self._write(state=JobState.FAILED, reason=reason, ended_at=time.time())
            return
        verdict = self._watch(batch)
        self._write(state=JobState.COMPLETING)
        self._sweep()
        code = batch.returncode if batch.returncode >= 0 else 128 - batch.returncode
        if verdict is None:
            verdict = Verdict(JobState.FAILED, f"exit code {code}") if code else Verdict(JobState.COMPLETED, "")
        self._write(state=verdict.state, reason=verdict.reason, exit_code=code, ended_at=time.time())

    def _wait_for_turn(self) -> Verdict | None:
        """Until the job may start, which is then written; or the verdict of a job that is not to start."""
        jobs = LocalJobs(self._files.path.parent.parent)
        while True:
            if verdict := self._asked_to_end():
                return verdict
            with exclusive_lock(jobs.admission_lock):
                if may_start(self._files.number, jobs.all(), self._spec.slots):
                    self._write(state=JobState.RUNNING, started_at=time.time())
                    return None
            self._sleep(_POLL)

    def _start(self) -> subprocess.Popen[bytes]:
        with Path(self._spec.log).open("ab") as log:
            return subprocess.Popen(
                [str(self._files.script)],
                cwd=self._spec.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, ()),
            )

    def _watch(self, batch: "subprocess.Popen[bytes]") -> Verdict | None:
        """Until the script has ended, which the verdict, if any, has hastened."""
        spec, started = self._spec, time.monotonic()
        limit = started + spec.time_limit if spec.time_limit else math.inf
        early = limit - spec.early_lead if spec.early_signal else math.inf
        kill = math.inf
        verdict: Verdict | None = None
        while batch.poll() is None:
            now = time.monotonic()
            if verdict is None and (verdict := self._asked_to_end() or (_OVERDUE if now >= limit else None)):
                _signal_group(batch.pid, signal.SIGTERM)
                kill = now + spec.kill_wait
            if now >= early and spec.early_signal:
                batch.send_signal(spec.early_signal)
                early = math.inf
            if now >= kill:
                _signal_group(batch.pid, signal.SIGKILL)
            self._sleep(min([_LONGEST_SLEEP, *(moment - now for moment in (limit, early, kill) if moment > now)]))
        return verdict

    def _sweep(self) -> None:
        """End what the script has left behind, as Slurm does, and wait until nothing of it is left."""
        kill = time.monotonic() + self._spec.kill_wait
        asked: set[int] = set()
        while left := set(marked(MARK, str(self._files.path))) - {os.getpid()}:
            if time.monotonic() >= kill:
                send(left, signal.SIGKILL)
            else:
                send(left - asked, signal.SIGTERM)
            asked |= left
            self._sleep(_POLL)

    def _asked_to_end(self) -> Verdict | None:
        if self._files.cancel.exists():
            return Verdict(JobState.CANCELLED, "cancelled")
        if self._told_to_end:  # not by the scheduler, hence by a shutdown
            return Verdict(JobState.NODE_FAIL, "the machine told the job's supervisor to end")
        return None

    def _sleep(self, seconds: float) -> None:
        """Until a child ends, somebody asks for the job's end, or the time is over."""
        received = signal.sigtimedwait((_CHILD_ENDED, _ASKED_TO_END), seconds)
        if received is not None and received.si_signo == _ASKED_TO_END:
            self._told_to_end = True

    def _write(self, **changes: object) -> None:
        self._state = dataclasses.replace(self._state, **changes)  # type: ignore[arg-type]
        self._files.write_state(self._state)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def main(arguments: list[str]) -> int:
    """Leave the supervisor behind, in a session of its own, and return once the job exists."""
    files = JobFiles(Path(arguments[0]))
    reader, writer = os.pipe()
    starter = os.getpid()
    if os.fork():
        os.close(writer)
        return 0 if os.read(reader, 1) else 1
    os.close(reader)
    os.setsid()
    os.chdir("/")
    for number in _INHERITED:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, (_CHILD_ENDED, _ASKED_TO_END))
    supervisor = Supervisor(files)
    supervisor.announce()
    os.write(writer, b".")
    os.close(writer)
    while os.getppid() == starter:  # it bears the job's mark; the job must not end it before it has told its caller
        time.sleep(0.005)
    supervisor.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
