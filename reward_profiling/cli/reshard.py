"""`reward-profiling reshard`: another number of shards for a sweep, with everything that was collected."""

import os
from typing import Annotated

import typer

from reward_profiling.cli.options import Json, SchedulerKind, SweepPath
from reward_profiling.cli.output import note, out, print_json
from reward_profiling.cli.run import scheduler_kind
from reward_profiling.launch.reshard import reshard as reshard_sweep
from reward_profiling.launch.session import local_or_slurm
from reward_profiling.sweep.layout import SweepDir


def register(app: typer.Typer) -> None:
    app.command()(reshard)


def reshard(
    sweep_dir: SweepPath,
    num_shards: Annotated[int, typer.Option("--num-shards", min=1, help="How many shards there are to be.")],
    scheduler: SchedulerKind = None,
    json: Json = False,
) -> None:
    """Deal a sweep over another number of shards, carrying what was collected. Refused while any job is live.

    The old layout is kept under snapshots/. Interrupted, it is finished by running it again.
    """
    sweep = SweepDir(sweep_dir.resolve())
    found = local_or_slurm(sweep.path.parent, scheduler_kind(scheduler))
    report = reshard_sweep(sweep, num_shards, found, os.environ, note)
    if json:
        print_json({"path": str(sweep.path), **report.model_dump(mode="json")})
    else:
        out.print(f"{report.nickname}: {report.tasks} tasks in {report.num_shards} shards")
        out.print(f"Set `num_shards: {report.num_shards}` in the manifest before it is materialized again.")
