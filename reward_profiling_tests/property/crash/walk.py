"""A sweep that is collected, extended and changed for as long as a test likes; a naive idea of what it must hold."""

import os
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reward_profiling.errors import SweepError
from reward_profiling.launch.check_ledgers import check_ledgers
from reward_profiling.launch.quiet import RECENT_SECONDS
from reward_profiling.sweep.check import check_sweep
from reward_profiling.sweep.completeness import Plan, load_plan, look
from reward_profiling.sweep.deal import keys_of
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.repair import repair
from reward_profiling_tests.collected import Holdings, collect_some, sweep_holds
from reward_profiling_tests.property.crash.conftest import Children, Ended
from reward_profiling_tests.property.crash.operations import FolderScheduler, sweep_in
from reward_profiling_tests.sweeps import append, keys_of_shard, rollout

SHAPE = {"tasks": 5, "repeats": 2, "labels": 2}
_MOST_ROUNDS = 3


class Walk:
    """A sweep of four shards to begin with, partly collected."""

    def __init__(self, children: Children, dice: random.Random) -> None:
        self.children, self.dice = children, dice
        self.shape = dict(SHAPE)
        self.kills = 0
        self._events: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        children.run("materialize", {**self.shape, "num_shards": 4})
        self.collect()

    @property
    def folder(self) -> Path:
        return self.children.folder

    @property
    def sweep(self) -> SweepDir:
        return sweep_in(self.folder)

    def plan(self) -> Plan:
        return load_plan(self.sweep, {})

    def holds(self) -> Holdings:
        return sweep_holds(self.plan())

    def collect(self) -> None:
        """Repair and collect some of what is owed, as a job does; sometimes it is killed in the middle of a row."""
        plan = self.plan()
        for number in range(plan.report.num_shards):
            repair(plan.sweep.shard(number), keys_of(plan.shard_tasks(number)))
        collect_some(plan, self.dice.randrange(10**6), share=0.2)
        shard = plan.sweep.shard(self.dice.randrange(plan.report.num_shards))
        if self.dice.random() < 0.3 and (keys := keys_of_shard(shard)):
            line = rollout(self.dice.choice(keys))
            append(shard.rollouts, line[: self.dice.randrange(1, len(line) - 1)])
        self.age()

    def age(self) -> None:
        """Let time pass, until rows are no proof any more that something runs."""
        old = time.time() - 2 * RECENT_SECONDS
        for path in self.sweep.shards.rglob("rollouts*.jsonl"):
            os.utime(path, (old, old))

    def killed(self, operation: str, arguments: Mapping[str, Any]) -> Ended:
        """Run an operation that is killed at some moment, if it lasts until then: half of the times at an event of its
        own, half of the times by the clock."""
        limits: dict[str, Any] = {"kill_at": self.dice.randint(1, self._events.get(operation, 60))}
        if self.dice.random() < 0.5:
            limits = {"kill_after": self.dice.uniform(0, self._seconds.get(operation, 0.2))}
        ended = self.children.run(operation, dict(arguments), **limits)
        assert ended.end in ("done", "killed"), ended.text
        self.kills += ended.end == "killed"
        self.age()
        return ended

    def finish(self, operation: str, arguments: Mapping[str, Any]) -> None:
        """Run an operation to its end, and learn how long it takes."""
        ended = self.children.run(operation, dict(arguments))
        self._events[operation] = max(self._events.get(operation, 0), ended.events or 0)
        self._seconds[operation] = max(self._seconds.get(operation, 0.0), min(ended.seconds, 1.0))

    def kill_and_finish(self, operation: str, arguments: Mapping[str, Any]) -> None:
        """Kill an operation, perhaps more than once, and let it finish; at no time is anything missing."""
        held = self.holds()
        for _ in range(_MOST_ROUNDS):
            self.killed(operation, arguments)
            self.nothing_is_missing(held)
            if self.dice.random() < 0.7:
                break
        self.finish(operation, arguments)
        self.sound(held)

    def nothing_is_missing(self, held: Holdings) -> None:
        """Between a kill and the next run: either the sweep is refused, or it is whole."""
        try:
            plan = self.plan()
            outstanding = sum(look(plan, number).counts.outstanding for number in range(plan.report.num_shards))
        except SweepError as error:
            assert (
                "one layout is taking the place of another" in error.problem or "written for another" in error.problem
            )
            return
        assert sweep_holds(plan) == held
        assert outstanding == len(self.owed(held))

    def sound(self, held: Holdings) -> None:
        """After an operation: everything is there, everything adds up, nothing is left lying about."""
        plan = self.plan()
        assert sweep_holds(plan) == held
        checks = [*check_sweep(plan), check_ledgers(plan)]
        assert [finding for check in checks for finding in check.findings] == []
        assert sum(look(plan, n).counts.outstanding for n in range(plan.report.num_shards)) == len(self.owed(held))
        # What a killed process leaves is taken away by the next one, but for the few bytes of a report or a record.
        large = [*self.folder.rglob(".*.jsonl.*.tmp"), *self.folder.rglob(".*.parquet.*.tmp")]
        left = [self.sweep.next.path, self.sweep.journal, *self.folder.rglob(".unfinished"), *large]
        assert [path for path in left if path.exists()] == []

    def owed(self, held: Holdings) -> set[tuple[int, int]]:
        """What NeMo Gym would dispatch, by its rule (Gym contract 3.3), from lines alone."""
        keys = {
            (task, repeat)
            for task in range(self.shape["tasks"] * self.shape["labels"])
            for repeat in range(self.shape["repeats"])
        }
        gated = {
            key
            for key, lines in held.failures.items()
            if len(lines) >= 3 or any(b'"_ng_failure_terminal":true' in line for line in lines)
        }
        return keys - held.rollouts.keys() - gated

    def one_live_job_per_shard(self) -> None:
        """The promise of the launcher, from the scheduler's own records."""
        live = [job.name for job in FolderScheduler(self.folder).queue() if job.live]
        assert len(live) == len(set(live))
