"""`reward-profiling run`: submit, watch and resubmit in the foreground, without Dagster."""

import os
import time
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from reward_profiling.cli.options import Endpoint, Gym, Json, Model, SchedulerKind, SweepPath
from reward_profiling.cli.output import note, print_json
from reward_profiling.cli.status import show
from reward_profiling.errors import IncompleteError, LaunchError
from reward_profiling.launch.decide import Finish, Stop, Submit, Wait
from reward_profiling.launch.overview import document, overview
from reward_profiling.launch.session import SchedulerKind as Kind
from reward_profiling.launch.session import open_session
from reward_profiling.launch.watch import ShardView, watch
from reward_profiling.sweep.layout import SweepDir

_POLL_SECONDS = {"slurm": 10.0, "local": 1.0}
_SCHEDULER_VARIABLE = "REWARD_PROFILING_SCHEDULER"


def register(app: typer.Typer) -> None:
    app.command()(run)


def policy_overrides(endpoint: str | None, model: str | None) -> dict[str, object]:
    """The settings that `--endpoint` and `--model` stand for."""
    name = "gym_env_start.policy_model_name" if endpoint else "vllm.model"
    return {"gym_env_start.policy_base_url": endpoint, **({name: model} if model else {})}


def scheduler_kind(wanted: str | None) -> Kind | None:
    """The scheduler that was asked for, on the command line or in the environment; None is the machine's own."""
    wanted = wanted or os.environ.get(_SCHEDULER_VARIABLE) or "auto"
    if wanted not in ("slurm", "local", "auto"):
        raise LaunchError(f"{wanted!r} is no scheduler", place="--scheduler", cure="use slurm, local or auto")
    return None if wanted == "auto" else cast(Kind, wanted)


def run(
    sweep_dir: SweepPath,
    scheduler: SchedulerKind = None,
    endpoint: Endpoint = None,
    model: Model = None,
    shard: Annotated[list[int] | None, typer.Option("--shard", min=0, help="Only this shard; repeatable.")] = None,
    gym: Gym = None,
    json: Json = False,
) -> None:
    """Run a materialized sweep until nothing is outstanding. Exit code 1 when a shard was given up.

    Interrupting leaves the jobs running; run again to go on watching. A shard that was given up is tried anew.
    """
    sweep = SweepDir(sweep_dir.resolve())
    session = open_session(
        sweep,
        environ=os.environ,
        scheduler=scheduler_kind(scheduler),
        gym=gym,
        overrides=policy_overrides(endpoint, model),
    )
    numbers = _numbers(shard, session.plan.report.num_shards)
    for number in numbers:
        session.launcher.release(sweep.shard(number))
    poll = _POLL_SECONDS[session.launcher.scheduler.kind]
    last: dict[int, str] = {}

    def on_step(views: Sequence[ShardView]) -> None:
        for view in views:
            line = _line(view)
            if last.get(view.number) != line:
                last[view.number] = line
                note(line)

    views = watch(session.plan, numbers, session.launcher, on_step=on_step, pause=lambda: time.sleep(poll))
    found = overview(session.plan)
    if json:
        print_json(document(found))
    else:
        show(found)
    given_up = [view for view in views if isinstance(view.action, Stop)]
    if given_up:
        owed = sum(view.state.status.counts.outstanding for view in given_up)
        names = ", ".join(view.name for view in given_up)
        raise IncompleteError(
            f"INCOMPLETE: {names} given up, {owed} rollouts were never collected",
            place=str(sweep.path),
            cure="read logs/ in the shard's directory, mend the cause and run again",
        )


def _numbers(wanted: list[int] | None, num_shards: int) -> list[int]:
    beyond = [number for number in wanted or [] if number >= num_shards]
    if beyond:
        raise LaunchError(
            f"there is no shard {beyond[0]}", place="--shard", cure=f"they run from 0 to {num_shards - 1}"
        )
    return sorted(set(wanted)) if wanted else list(range(num_shards))


def _line(view: ShardView) -> str:
    counts = view.state.status.counts
    done = f"{view.name}: {counts.gated}/{counts.expected}"
    match view.action:
        case Wait(reason):
            return f"{done}, {reason}"
        case Submit():
            return f"{done}, submitted"
        case Finish():
            return f"{done}, complete"
        case Stop(reason):
            return f"{done}, given up: {reason}"
        case _:
            return f"{done}, {type(view.action).__name__.lower()}d"
