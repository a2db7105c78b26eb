"""The exit record: what a job says of itself when it ends.

Promise: written atomically, read strictly. A job that is told to end writes its record twice: at once, with `after`
still None, so that something is left if the scheduler kills it, and again after its counts. Whether a shard is complete
is never taken from here (design, decision 4); a job that was killed leaves no record at all.
"""

from enum import StrEnum
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from reward_profiling.errors import StorageError
from reward_profiling.files import storage_error, write_json
from reward_profiling.sweep.status import Counts


class Reason(StrEnum):
    """Why a job ended."""

    COMPLETE = "complete"
    """Nothing is outstanding any more."""
    NOTHING_OUTSTANDING = "nothing_outstanding"
    """Nothing was outstanding at the start; Gym was not started."""
    INCOMPLETE = "incomplete"
    """The collector ended without complaint, and rollouts are outstanding."""
    COLLECTOR_FAILED = "collector_failed"
    """The collector ended with an error or was killed."""
    GYM_NOT_READY = "gym_not_ready"
    """Gym's servers ended, or took too long, before they were ready."""
    GYM_DIED = "gym_died"
    """Gym's servers ended while the collector ran."""
    POLICY_UNREACHABLE = "policy_unreachable"
    """The policy's endpoint did not answer before the start."""
    POLICY_REFUSED = "policy_refused"
    """The policy's endpoint answered, and refused the key or the model: every rollout would have failed."""
    POLICY_NOT_READY = "policy_not_ready"
    """The engine ended, or took too long, before it was ready."""
    POLICY_DIED = "policy_died"
    """The engine ended while it was needed."""
    POLICY_LOST = "policy_lost"
    """The policy was up and stopped answering."""
    STALLED = "stalled"
    """No new row for too long, with everything alive."""
    WALLTIME = "walltime"
    """The scheduler announced the end of the job's time."""
    TERMINATED = "terminated"
    """The job was told to end: cancelled, preempted, or out of time."""
    SHARD_BUSY = "shard_busy"
    """Another job collects this shard."""
    CANNOT_START = "cannot_start"
    """Something is missing or damaged that another attempt will not mend."""
    BROKEN = "broken"
    """A defect of this package."""


class ExitRecord(BaseModel):
    """One job. Times are Unix seconds; exit codes are a shell's (128 + signal), by the name of the part."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    job_id: str | None
    attempt: int
    shard: str
    nodes: tuple[str, ...]
    reason: Reason
    message: str
    started_at: float
    ready_at: float | None
    """When the collector was started."""
    first_row_at: float | None
    """When the first new row was seen, to within some seconds."""
    ended_at: float
    before: Counts | None
    """The shard when the job began; None when it did not get that far."""
    after: Counts | None
    """The shard when the job ended; None when it was not counted."""
    exit_codes: dict[str, int]
    gym_version: str | None
    simulated: bool


def write_exit_record(path: Path, record: ExitRecord) -> None:
    """Write `record` atomically. Raises `StorageError`."""
    write_json(path, record.model_dump(mode="json"))


def read_exit_record(path: Path) -> ExitRecord | None:
    """The record at `path`; None when the job left none. Raises `StorageError` when it cannot be read."""
    try:
        return ExitRecord.model_validate(orjson.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(path, error) from error
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise StorageError("this is no exit record of this version", place=str(path), cure="remove it") from error
