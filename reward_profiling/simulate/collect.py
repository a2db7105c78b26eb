"""`gym eval run --no-serve`: run what is outstanding and append one line per attempt (Gym contract 3.2-3.8).

Promise: dispatch follows the work list; lines are written in completion order, each by one unbuffered write of its
own, so a killed run leaves whole lines (and half a line only on demand). The first failed call ends the run unless
failures are routed to the sidecar. The work list is streamed: an agent that the servers do not know is met when its row
comes up.
"""

import heapq
import logging
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from operator import index

import orjson

from reward_profiling.errors import RewardProfilingError
from reward_profiling.simulate.outcomes import Outcomes, Traits
from reward_profiling.simulate.outputs import Done, Key, Outputs, json_rows
from reward_profiling.simulate.rows import COLLECTOR_CLASSES, Work, failure_line, rollout_line
from reward_profiling.simulate.steering import Steering

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """What the collector was told, apart from the steering."""

    concurrency: int | None = None
    route_failures: bool = False
    require_complete: bool = False
    tolerate_foreign: bool = False


@dataclass(frozen=True)
class Attempt:
    """A dispatched row with all that its line needs."""

    work: Work
    task: Traits
    prompt: bytes


class Collector:
    """One run over one work list. `environment_servers` maps each running agent to the server that fronts it."""

    def __init__(
        self, outputs: Outputs, done: Done, environment_servers: Mapping[str, str], options: Options, steering: Steering
    ) -> None:
        self._outputs = outputs
        self._done = done
        self._servers = environment_servers
        self._options = options
        self._steering = steering
        self._outcomes = Outcomes(steering)
        self._listed = self._finished = self._succeeded = 0

    def run(self) -> int:
        """Collect; the exit code of contract 3.8. Raises `RewardProfilingError` where Gym ends with a traceback."""
        self._refuse_foreign()
        append = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        rollouts = os.open(self._outputs.rollouts, append, 0o644)
        failures = os.open(self._outputs.failures, append, 0o644)
        try:
            for attempt in self._paced(self._completed(self._dispatched())):
                self._write(attempt, rollouts, failures)
        finally:
            os.close(rollouts)
            os.close(failures)
        return self._verdict()

    def _dispatched(self) -> Iterator[Attempt]:
        """The outstanding rows in work-list order."""
        failures = self._done.failures
        for row in json_rows(self._outputs.work_list):
            self._listed += 1
            try:
                key: Key = (index(row["_ng_task_index"]), index(row["_ng_rollout_index"]))
                agent = row["agent_ref"]["name"]
                parameters = row["responses_create_params"]
            except (KeyError, TypeError) as error:
                raise RewardProfilingError(
                    f"no row of a work list: {error}", place=f"{self._outputs.work_list}:{self._listed}"
                ) from error
            if not self._done.outstanding(key):
                continue
            server = self._servers.get(agent)
            if server is None:
                raise RewardProfilingError(f"the running servers have no agent {agent!r}", cure="add its config")
            prompt = orjson.dumps(parameters)
            task = self._outcomes.traits(row.get("_ng_sweep_label") or agent, prompt)
            yield Attempt(Work(row, *key, failures.get(key, 0), server), task, prompt)

    def _completed(self, attempts: Iterator[Attempt]) -> Iterator[Attempt]:
        """The attempts in the order and at the time of their completion, `concurrency` at a time."""
        if not self._steering.latency_s:
            yield from attempts
            return
        in_flight: list[tuple[float, int, Attempt]] = []
        now = time.monotonic()
        numbered = enumerate(attempts)
        while True:
            room = None if self._options.concurrency is None else self._options.concurrency - len(in_flight)
            for number, attempt in islice(numbered, room):
                work = attempt.work
                latency = self._outcomes.latency(attempt.task, work.rollout, work.attempt)
                heapq.heappush(in_flight, (now + latency, number, attempt))
            if not in_flight:
                return
            now, _, attempt = heapq.heappop(in_flight)
            time.sleep(max(0.0, now - time.monotonic()))
            yield attempt

    def _paced(self, attempts: Iterator[Attempt]) -> Iterator[Attempt]:
        """The attempts, at most `rollouts_per_second`."""
        rate = self._steering.rollouts_per_second
        due = time.monotonic()
        for attempt in attempts:
            if rate:
                time.sleep(max(0.0, due - time.monotonic()))
                due = max(due, time.monotonic() - 1) + 1 / rate
            yield attempt

    def _write(self, attempt: Attempt, rollouts: int, failures: int) -> None:
        work, size = attempt.work, self._steering.response_bytes
        outcome = self._outcomes.outcome(attempt.task, work.rollout, work.attempt)
        if outcome.failure in COLLECTOR_CLASSES and not self._options.route_failures:
            raise RewardProfilingError(
                f"{outcome.failure} at task {work.task}, rollout {work.rollout}",
                cure="pass +route_failures_to_sidecar=true to go on after a failure",
            )
        render = failure_line if outcome.failure else rollout_line
        self._append(failures if outcome.failure else rollouts, render(work, outcome, attempt.prompt, size))
        self._succeeded += not outcome.failure

    def _append(self, descriptor: int, line: bytes) -> None:
        """Write one line, unless a fault is due before it."""
        steering = self._steering
        if self._finished == steering.die_after:
            os.write(descriptor, line[: len(line) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        if self._finished == steering.exit_after:
            raise SystemExit(steering.exit_code)
        while self._finished == steering.hang_after:
            signal.pause()
        while line:  # the kernel may take a part only, when the disk fills
            line = line[os.write(descriptor, line) :]
        self._finished += 1

    def _refuse_foreign(self) -> None:
        """A success of a key that the work list lacks ends Gym's run, unless it retains no results."""
        if self._options.tolerate_foreign or not self._done.succeeded:
            return
        rows = json_rows(self._outputs.work_list)
        known = {(row.get("_ng_task_index"), row.get("_ng_rollout_index")) for row in rows}
        for key in sorted(set(self._done.succeeded) - known):
            raise RewardProfilingError(f"rollout {key} is not in the work list", place=str(self._outputs.rollouts))

    def _verdict(self) -> int:
        on_disk = len(self._done.succeeded) + self._succeeded
        _log.info("collected %d attempts; %d of %d rollouts have a result", self._finished, on_disk, self._listed)
        if self._finished and not on_disk:
            _log.error("none of the dispatched rollouts produced a result; see %s", self._outputs.failures)
            return 1
        if self._options.require_complete and on_disk < self._listed:
            _log.error("%d of %d rollouts have no result", self._listed - on_disk, self._listed)
            return 1
        return 0
