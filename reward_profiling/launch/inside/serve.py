"""The policy of a job: checked where it is served already, started where the job serves it.

Promise: when the block is entered the policy answers; the variables in `Served.environment` tell Gym where it is.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.inside import policy
from reward_profiling.launch.inside.draft import Draft
from reward_profiling.launch.inside.ending import Watcher, unless
from reward_profiling.launch.inside.network import free_port
from reward_profiling.launch.inside.parts import POLICY, Part, running
from reward_profiling.launch.inside.policy import Policy
from reward_profiling.launch.patience import Patience

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Served:
    """A policy that answers: where to ask, the engine if it is the job's own, and the environment of what follows.

    `policy` is None with the collector stand-in, which asks nobody.
    """

    environment: Mapping[str, str]
    policy: Policy | None = None
    engine: Part | None = None

    def died(self) -> Sequence[Watcher]:
        """Watchers for the engine's end."""
        return [self.engine.ending(Reason.POLICY_DIED)] if self.engine else []

    def lost(self, patience: Patience) -> Sequence[Watcher]:
        """Watchers for a policy that stops answering."""
        return [policy.lost(self.policy, patience)] if self.policy else []


@contextlib.asynccontextmanager
async def policy_served(draft: Draft) -> AsyncIterator[Served]:
    """A policy for as long as the block lasts. Raises `EndedError` when there is none."""
    options, environment = draft.options, draft.environment
    if options.policy_url is not None:
        key = environment.get(options.policy_key) if options.policy_key else None
        _log.info("asking the policy at %s", options.policy_url)
        yield Served(environment, await policy.check_endpoint(options.policy_url, options.model, key, options.patience))
    elif options.serve_policy:
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        environment = {**environment, "RP_POLICY_PORT": str(port), "RP_POLICY_URL": f"{base}/v1"}
        _log.info("starting the engine on port %d", port)
        log = options.logs / "policy.log"
        async with running(POLICY, options.script, log, environment, draft.exit_codes) as engine:
            ready = policy.engine_ready(engine, f"{base}/health", options.patience.ready)
            answering = await unless(ready, [engine.ending(Reason.POLICY_NOT_READY)])
            yield Served(environment, answering, engine)
    else:
        yield Served(environment)
