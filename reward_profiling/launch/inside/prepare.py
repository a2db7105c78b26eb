"""Before a collector starts: the shard's files repaired, and what is outstanding.

Promise: afterwards both files exist and are fit for a resume (Gym contract 3.2 and 3.7), so that Gym goes on instead of
starting over, which would delete what was collected. Call it only while holding the shard.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping

from reward_profiling.files import exclusive_lock
from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.inside.ending import EndedError
from reward_profiling.sweep.completeness import check_work_list, load_plan, look
from reward_profiling.sweep.deal import keys_of
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.repair import repair
from reward_profiling.sweep.status import Counts

_HOLD_TRIES = 30
_log = logging.getLogger(__name__)


def prepare(sweep: SweepDir, number: int, environment: Mapping[str, str]) -> Counts:
    """Repair the shard's files and count; any `RewardProfilingError` means that no collector may start."""
    plan = load_plan(sweep, environment)
    shard = sweep.shard(number)
    check_work_list(shard, plan.report)
    report = repair(shard, keys_of(plan.shard_tasks(number)))
    if report.rejected:
        _log.warning("taken out of the shard's files: %s", report)
    return look(plan, number).counts


def count(sweep: SweepDir, number: int, environment: Mapping[str, str]) -> Counts:
    """How far the shard is."""
    return look(load_plan(sweep, environment), number).counts


@contextlib.asynccontextmanager
async def held(shard: ShardDir) -> AsyncIterator[None]:
    """Keep other jobs from the shard for as long as the block lasts: two collectors would both append.

    Raises `EndedError` when another job does not let go; its last processes may take some seconds to end.
    """
    for number in range(_HOLD_TRIES):
        with contextlib.ExitStack() as stack:
            if stack.enter_context(exclusive_lock(shard.collect_lock, wait=False)):
                yield
                return
        if number == 0:
            _log.warning("another job holds this shard; waiting")
        await asyncio.sleep(1)
    raise EndedError(Reason.SHARD_BUSY, f"another job has held this shard for {_HOLD_TRIES} s")
