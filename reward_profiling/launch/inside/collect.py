"""The steps of a job, in order: hold the shard, repair, look, policy, servers, collector, watch.

Promise: whatever is started is stopped again when this ends, in reverse order and however it ends. Nothing is started
when nothing is outstanding. Only the collector writes the shard's files while it runs.
"""

import logging
import time
from contextlib import AsyncExitStack

from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.inside.draft import Draft
from reward_profiling.launch.inside.ending import EndedError, Ending, first, unless
from reward_profiling.launch.inside.growth import stalled
from reward_profiling.launch.inside.gym_servers import HEAD_PORT, serving, stated_version, stating_version
from reward_profiling.launch.inside.parts import COLLECTOR, Part, running
from reward_profiling.launch.inside.prepare import held, prepare
from reward_profiling.launch.inside.serve import policy_served
from reward_profiling.launch.inside.threads import in_thread

_log = logging.getLogger(__name__)


async def collect(draft: Draft) -> Ending:
    """Run the job; how it ended. Raises `EndedError` for an end before the collector."""
    options = draft.options
    unset = [name for name in options.needs if name not in draft.environment]
    if unset:
        raise EndedError(Reason.CANNOT_START, f"not set in the job's environment: {', '.join(unset)}")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(held(options.shard))
        draft.before = await in_thread(lambda: prepare(options.sweep, options.number, draft.environment))
        _log.info("%d of %d rollouts are outstanding", draft.before.outstanding, draft.before.expected)
        if draft.before.complete:
            return Ending(Reason.NOTHING_OUTSTANDING, "nothing was outstanding; Gym was not started")
        served = await stack.enter_async_context(policy_served(draft))
        version = await stack.enter_async_context(stating_version(options, served.environment))
        _log.info("starting Gym's servers")
        servers, head_port = await unless(
            stack.enter_async_context(serving(options, served.environment, draft.exit_codes)), served.died()
        )
        draft.gym_version = await stated_version(version)
        _log.info("Gym %s is ready on head port %d; collecting", draft.gym_version or "?", head_port)
        draft.ready_at = time.time()
        environment = {**served.environment, HEAD_PORT: str(head_port)}
        log = options.logs / "collector.log"
        collector = await stack.enter_async_context(
            running(COLLECTOR, options.script, log, environment, draft.exit_codes)
        )
        files = (options.shard.rollouts, options.shard.failures)
        return await first(
            [
                servers.ending(Reason.GYM_DIED),
                *served.died(),
                _collected(collector),
                *served.lost(options.patience),
                stalled(files, options.patience.stall, draft.saw_rows),
            ]
        )


async def _collected(collector: Part) -> Ending:
    """A watcher: the collector has ended. Its exit code says little about completeness (Gym contract 3.8)."""
    if await collector.wait() == 0:
        return Ending(Reason.COMPLETE, "the collector has ended")
    return await collector.ending(Reason.COLLECTOR_FAILED)
