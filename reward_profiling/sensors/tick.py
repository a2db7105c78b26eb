"""One tick of the sensor: look at shards one after the other, act on what is seen, and collect what Dagster is told.

Promise: the scheduler is asked once for all jobs, before any shard's files are read; nothing is submitted here. An
error is noted with its sweep and passed over.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import dagster as dg

from reward_profiling.assets import rollout_events
from reward_profiling.assets.sweep import Sweep
from reward_profiling.errors import RewardProfilingError
from reward_profiling.launch.decide import Finish, Submit, Wait
from reward_profiling.launch.session import Session
from reward_profiling.launch.watch import ask_queue, settle
from reward_profiling.resources.launching import SweepLauncher
from reward_profiling.scheduler.protocol import Job, Scheduler
from reward_profiling.sensors.cursor import Shard

Event = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation


@dataclass
class Tick:
    """What one tick has found so far.

    `deadline` is in `time.monotonic` seconds; `observe` asks for the progress of shards with a live job. `attempts`
    holds, by sweep and shard, the number of the attempt that is needed.
    """

    launcher: SweepLauncher
    deadline: float
    observe: bool
    attempts: dict[str, dict[int, int]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)
    _scheduler: Scheduler | None = None
    _jobs: tuple[Job, ...] | None = None

    def take(self, shards: Sequence[Shard]) -> Shard | None:
        """Look at the shards until time is up; returns the first that was not reached."""
        for nickname, group in groupby(shards, lambda shard: shard[0].nickname):
            members = list(group)
            try:
                session = self._open(members[0][0])
            except RewardProfilingError as error:
                self.notes.append(f"{nickname}: {error}")
                continue
            for sweep, number in members:
                if time.monotonic() > self.deadline:
                    return sweep, number
                try:
                    self._take(sweep, number, session)
                except RewardProfilingError as error:
                    self.notes.append(f"{nickname}: {error}")
        return None

    def _take(self, sweep: Sweep, number: int, session: Session) -> None:
        state, action = settle(session.plan, number, session.launcher, self._jobs)
        key = sweep.key("rollouts")
        if isinstance(action, Submit):
            self.attempts.setdefault(sweep.nickname, {})[number] = state.ledger.last_number + 1
        elif isinstance(action, Finish):
            self.events.append(rollout_events.materialization(key, session.plan, state))
            self.finished.add(sweep.nickname)
        elif self.observe and isinstance(action, Wait):
            self.events.append(rollout_events.observation(key, session.plan, state, action))
        self.notes.append(f"{sweep.nickname} {state.status.shard}: {rollout_events.words(action)}")

    def _open(self, sweep: Sweep) -> Session:
        session = self.launcher.open(sweep.directory, self._scheduler)
        if self._scheduler is None:
            self._scheduler, self._jobs = session.launcher.scheduler, ask_queue(session.launcher)
        return session
