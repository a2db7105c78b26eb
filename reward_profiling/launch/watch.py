"""Watching the shards of one sweep: observe, decide, act, until nothing is outstanding or no budget is left.

Promise: one scheduler query per step for all shards; the queue is asked before the files are read, so a job that has
ended has written everything that is counted. The blocking run, the command line and the sensor take the same steps.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from reward_profiling.errors import SchedulerUnknownError
from reward_profiling.launch.act import Launcher, jobs_by_name
from reward_profiling.launch.decide import Action, Adopt, Close, Finish, ShardState, Stop, Submit, Wait, decide
from reward_profiling.launch.ledger import read_ledger
from reward_profiling.scheduler.protocol import Job
from reward_profiling.sweep.completeness import Plan, look
from reward_profiling.sweep.layout import ShardDir, SweepDir, shard_name, shard_number


@dataclass(frozen=True)
class ShardView:
    """One shard at one step: what was seen, and what was done about it."""

    number: int
    state: ShardState
    action: Action

    @property
    def name(self) -> str:
        return shard_name(self.number)

    @property
    def settled(self) -> bool:
        """Nothing more will happen by itself: complete, or given up."""
        return isinstance(self.action, Finish | Stop)


def job_name(sweep: SweepDir, number: int) -> str:
    """The deterministic name of a shard's job; sweeps of one nickname in different places do not share it."""
    first, last = _name_ends(sweep)
    return f"{first}{shard_name(number)}{last}"


def is_job_of(sweep: SweepDir, name: str) -> bool:
    """Whether `name` is that of a job of this sweep, whatever its layout was."""
    first, last = _name_ends(sweep)
    return name.startswith(first) and name.endswith(last) and shard_number(name[len(first) : -len(last)]) is not None


def _name_ends(sweep: SweepDir) -> tuple[str, str]:
    place = sha256(str(sweep.path.resolve()).encode()).hexdigest()[:8]
    return f"rp.{sweep.nickname}.", f".{place}"


def ask_queue(launcher: Launcher) -> tuple[Job, ...] | None:
    """The scheduler's jobs, or None when it did not answer."""
    try:
        return launcher.scheduler.queue()
    except SchedulerUnknownError:
        return None


def observe(plan: Plan, numbers: Iterable[int], jobs: tuple[Job, ...] | None) -> dict[int, ShardState]:
    """The state of the given shards; `jobs` must have been asked for before."""
    by_name = None if jobs is None else jobs_by_name(jobs)
    return {
        number: ShardState(
            status=look(plan, number),
            ledger=read_ledger(plan.sweep.shard(number)),
            jobs=None if by_name is None else by_name.get(job_name(plan.sweep, number), ()),
        )
        for number in numbers
    }


def step(plan: Plan, numbers: Sequence[int], launcher: Launcher) -> list[ShardView]:
    """Observe the shards, decide, and act; a scheduler that does not answer means waiting."""
    states = observe(plan, numbers, ask_queue(launcher))
    return [_act(plan, number, state, launcher) for number, state in states.items()]


def _act(plan: Plan, number: int, state: ShardState, launcher: Launcher) -> ShardView:
    shard, name = plan.sweep.shard(number), job_name(plan.sweep, number)
    action = decide(state, launcher.budget)
    try:
        if not _carry_out(launcher, shard, name, state, action):
            action = Wait("another process is taking care of it")
    except SchedulerUnknownError as error:
        action = Wait(str(error))
    return ShardView(number, state, action)


def _carry_out(launcher: Launcher, shard: ShardDir, name: str, state: ShardState, action: Action) -> bool:
    match action:
        case Submit():
            return launcher.submit(shard, name, state)
        case Adopt():
            return launcher.adopt(shard, name, state, action)
        case Close():
            return launcher.close(shard, state, action)
        case Stop(reason):
            launcher.stop(shard, state, reason)
    return True


def settle(plan: Plan, number: int, launcher: Launcher, jobs: tuple[Job, ...] | None) -> tuple[ShardState, Action]:
    """Record what has happened to a shard's jobs until something else is to be done; returns that."""
    shard = plan.sweep.shard(number)
    while True:
        state = observe(plan, [number], jobs)[number]
        action = decide(state, launcher.budget)
        try:
            match action:
                case Adopt():
                    recorded = launcher.adopt(shard, job_name(plan.sweep, number), state, action)
                case Close():
                    recorded = launcher.close(shard, state, action)
                case Stop(reason):
                    launcher.stop(shard, state, reason)
                    return state, action
                case _:
                    return state, action
        except SchedulerUnknownError as error:
            return state, Wait(str(error))
        if not recorded:
            return state, Wait("another process is taking care of it")


def watch(
    plan: Plan,
    numbers: Sequence[int],
    launcher: Launcher,
    *,
    on_step: Callable[[Sequence[ShardView]], None],
    pause: Callable[[], None],
) -> list[ShardView]:
    """Take steps until every shard is settled; `pause` is called between steps and may end the watch by raising.

    Returns the last view of each shard, in the order given.
    """
    settled: dict[int, ShardView] = {}
    while True:
        views = step(plan, [number for number in numbers if number not in settled], launcher)
        settled |= {view.number: view for view in views if view.settled}
        on_step(views)
        if len(settled) == len(numbers):
            return [settled[number] for number in numbers]
        # What follows from an adoption or an ending is known at once; only waiting takes time.
        if not any(isinstance(view.action, Adopt | Close) for view in views):
            pause()
