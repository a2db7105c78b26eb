"""The supervisor of a job: runs its steps, hears the scheduler's signals, and writes the exit record as its last act.

Promise: every end that is not a kill leaves an exit record. Whether the shard is complete is counted from its files at
the end, whatever the parts' exit codes said.
"""

import asyncio
import logging
import signal
from collections.abc import Mapping

from reward_profiling.errors import RewardProfilingError
from reward_profiling.launch.exit_record import ExitRecord, Reason, write_exit_record
from reward_profiling.launch.inside.collect import collect
from reward_profiling.launch.inside.draft import Draft
from reward_profiling.launch.inside.ending import EndedError, Ending
from reward_profiling.launch.inside.options import Options
from reward_profiling.launch.inside.prepare import count
from reward_profiling.launch.inside.threads import in_thread
from reward_profiling.sweep.status import Counts

_SIGNALS = {
    signal.SIGUSR1: Ending(Reason.WALLTIME, "the scheduler announced the end of the job's time (SIGUSR1)"),
    signal.SIGTERM: Ending(Reason.TERMINATED, "told to end (SIGTERM): cancelled, preempted, or out of time"),
    signal.SIGINT: Ending(Reason.TERMINATED, "interrupted (SIGINT)"),
    signal.SIGHUP: Ending(Reason.TERMINATED, "its terminal is gone (SIGHUP)"),
}
# A scheduler that ends a job signals all its processes at once; a part may be seen dead before the signal is heard.
_SIGNAL_GRACE = 1.0
_A_PART_DIED = frozenset(
    {
        Reason.COLLECTOR_FAILED,
        Reason.GYM_DIED,
        Reason.GYM_NOT_READY,
        Reason.POLICY_DIED,
        Reason.POLICY_NOT_READY,
    }
)
_log = logging.getLogger(__name__)


async def supervise(options: Options, environment: Mapping[str, str]) -> ExitRecord:
    """Run one attempt and write its exit record, which is returned. Raises `StorageError` when it cannot be written."""
    draft = Draft(options, environment)
    told: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
    for number, ending in _SIGNALS.items():
        asyncio.get_running_loop().add_signal_handler(number, _tell, told, ending)
    job = asyncio.ensure_future(_endings(draft))
    await asyncio.wait([job, told], return_when=asyncio.FIRST_COMPLETED)
    if not told.done() and job.result().reason in _A_PART_DIED:
        await asyncio.wait([told], timeout=_SIGNAL_GRACE)
    if told.done():
        ending = told.result()
        _log.info("%s", ending.message)
        # The scheduler may not wait for the end of what follows.
        write_exit_record(options.shard.exit_record(options.attempt), draft.record(ending, None))
        job.cancel()
        await asyncio.wait([job])
    else:
        ending = job.result()
    after = await _after(draft)
    record = draft.record(judge(ending, after), after)
    write_exit_record(options.shard.exit_record(options.attempt), record)
    _log.info("%s: %s", record.reason.value, record.message)
    return record


def judge(ending: Ending, after: Counts | None) -> Ending:
    """The ending in the light of the counts, which alone decide about completeness."""
    if ending.reason is Reason.NOTHING_OUTSTANDING:
        return ending
    if after is not None and after.complete:
        return Ending(Reason.COMPLETE, f"nothing is outstanding; {ending.message}")
    if ending.reason is Reason.COMPLETE:
        remain = "the shard could not be counted" if after is None else f"{after.outstanding} rollouts remain"
        return Ending(Reason.INCOMPLETE, f"{ending.message} without complaint, and {remain}")
    return ending


async def _endings(draft: Draft) -> Ending:
    """How the job ended, errors included."""
    try:
        return await collect(draft)
    except EndedError as error:
        return error.ending
    except RewardProfilingError as error:
        return Ending(Reason.CANNOT_START, str(error))
    except Exception as error:  # noqa: BLE001 - a defect must leave a record as well
        _log.exception("a defect of reward-profiling")
        return Ending(Reason.BROKEN, f"{type(error).__name__}: {error}")


async def _after(draft: Draft) -> Counts | None:
    """The counts at the end; None when the shard was never counted or cannot be."""
    if draft.before is None:
        return None
    options = draft.options
    try:
        return await in_thread(lambda: count(options.sweep, options.number, draft.environment))
    except RewardProfilingError as error:
        _log.error("not counted at the end: %s", error)
        return None


def _tell(told: "asyncio.Future[Ending]", ending: Ending) -> None:
    if not told.done():
        told.set_result(ending)
