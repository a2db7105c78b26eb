"""What Slurm's commands print, read without guessing.

Promise: a record is read completely or `ValueError` is raised; a state this version does not know counts as live, so
that a job is never taken for ended by a word. Times are asked for, and come, as Unix seconds (SLURM_TIME_FORMAT=%s).

Fields end with the ASCII unit separator and records with the record separator, which no name of ours contains; the
name comes last, because names of other jobs may contain anything else, newlines included. `squeue -O` cuts fields at
their width: ours are wider than any job name we accept, and a cut node list is left out rather than misread.
"""

import re

from reward_profiling.scheduler import hostlist
from reward_profiling.scheduler.protocol import Job, JobState

_FIELD, _RECORD = "\x1f", "\x1e"
_WIDTHS = {
    "jobid": 20,
    "state": 20,
    "exit_code": 12,
    "submittime": 20,
    "starttime": 20,
    "endtime": 20,
    "reason": 64,
    "nodelist": 1024,
    "name": 512,
}
QUEUE_FORMAT = ",".join(f"{field}:{width}{_RECORD if field == 'name' else _FIELD}" for field, width in _WIDTHS.items())
"""For `squeue --Format`; --json would dump every user's jobs in 22.05 and changes its shape with each release."""

ACCOUNTING_OPTIONS = (
    "--noheader",
    "--parsable2",
    "--allocations",
    f"--delimiter={_FIELD}",
    "--format=JobIDRaw,State,ExitCode,Submit,Start,End,Reason,NodeList,JobName",
)
"""For `sacct`: the same fields in the same order, one line per job."""

# Words for states that a job passes through on its way to, or back from, one of ours.
_OTHER_WORDS = {
    "CONFIGURING": JobState.PENDING,
    "REQUEUED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "RESV_DEL_HOLD": JobState.PENDING,
    "SPECIAL_EXIT": JobState.PENDING,
    "RESIZING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STOPPED": JobState.SUSPENDED,
    "STAGE_OUT": JobState.COMPLETING,
    "LAUNCH_FAILED": JobState.FAILED,
}
_PAIR = re.compile(r"(\S+?)=(\S*)")
_CLUSTER_LINE = re.compile(r"\ACLUSTER: \S+\s*\n")  # squeue prints one per cluster when SLURM_CLUSTERS names several


def read_queue(text: str) -> tuple[Job, ...]:
    """The jobs in the output of `squeue --Format=QUEUE_FORMAT`."""
    *records, rest = text.split(_RECORD + "\n")
    if _CLUSTER_LINE.sub("", rest).strip():
        raise ValueError(f"an unfinished record: {rest[:80]!r}")
    return tuple(_job(_CLUSTER_LINE.sub("", record).split(_FIELD, len(_WIDTHS) - 1)) for record in records)


def read_accounting(text: str) -> tuple[Job, ...]:
    """The jobs in the output of `sacct` with ACCOUNTING_OPTIONS."""
    return tuple(_job(line.split(_FIELD, len(_WIDTHS) - 1)) for line in text.splitlines() if line.strip())


def read_details(text: str, job_id: str) -> Job:
    """The job `job_id` in the output of `scontrol --oneliner show job`."""
    for line in text.splitlines():
        # A name can contain whatever looks like a field; the user field follows it.
        name, _, rest = line.partition(" UserId=")
        values = dict(_PAIR.findall(rest))
        if name.startswith(f"JobId={job_id} "):
            keys = ("JobState", "ExitCode", "SubmitTime", "StartTime", "EndTime", "Reason", "NodeList")
            title = name.partition(" JobName=")[2]
            return _job([job_id, *(values[key] if key in values else _refuse(key) for key in keys), title])
    raise ValueError(f"nothing about job {job_id}")


def _refuse(key: str) -> str:
    raise ValueError(f"no {key} in the answer")


def _job(fields: list[str]) -> Job:
    if len(fields) != len(_WIDTHS):
        raise ValueError(f"{len(fields)} fields instead of {len(_WIDTHS)}: {fields[0][:80]!r}")
    job_id, word, code, submitted, started, ended, reason, nodes, name = (field.strip() for field in fields)
    if not job_id.isdecimal():
        raise ValueError(f"{job_id[:80]!r} is no job id")
    state, remark = _state(word)
    reason = "" if reason in ("None", "(null)") else reason
    names = _nodes(nodes)
    waiting = state is JobState.PENDING or (state.ended and not names)
    return Job(
        id=job_id,
        name=name,
        state=state,
        reason=remark or reason,
        nodes=names,
        submitted_at=_time(submitted),
        started_at=None if waiting else _time(started),  # of a waiting job it is a forecast
        ended_at=_time(ended) if state.ended else None,  # of a live job it is the time limit
        exit_code=_exit_code(code) if state.ended else None,
    )


def _state(word: str) -> tuple[JobState, str]:
    """The state, and a remark when its word is foreign; `CANCELLED by 0` and `CANCELLED+` are CANCELLED."""
    first = (word.split() or [""])[0].rstrip("+")
    if not re.fullmatch(r"[A-Z_]+", first):
        raise ValueError(f"{word[:80]!r} is no job state")
    if first in _OTHER_WORDS:
        return _OTHER_WORDS[first], ""
    if first in JobState.__members__:
        return JobState[first], ""
    return JobState.RUNNING, f"Slurm says {first}"


def _nodes(text: str) -> tuple[str, ...]:
    if text in ("", "(null)", "None", "None assigned") or len(text) >= _WIDTHS["nodelist"]:
        return ()
    return hostlist.expand(text)


def _time(text: str) -> float | None:
    if text in ("", "N/A", "NONE", "None", "Unknown", "(null)", "0"):
        return None
    return float(text)


def _exit_code(text: str) -> int:
    """`status:signal`, or the wait status that `squeue` prints; a death by signal becomes 128 + signal."""
    status, colon, number = text.partition(":")
    code, signal = (int(status), int(number)) if colon else (int(status) >> 8, int(status) & 0x7F)
    return 128 + signal if signal else code
