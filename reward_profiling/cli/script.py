"""`reward-profiling script`: the job that would be submitted, printed."""

import os
from typing import Annotated

import typer

from reward_profiling.cli.options import Endpoint, Gym, Model, SweepPath
from reward_profiling.cli.run import policy_overrides
from reward_profiling.launch.ledger import read_ledger
from reward_profiling.launch.script import render_job
from reward_profiling.launch.session import job_settings
from reward_profiling.manifest.load import load_manifest
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.report import read_shard_record


def register(app: typer.Typer) -> None:
    app.command()(script)


def script(
    sweep_dir: SweepPath,
    shard: Annotated[int, typer.Option("--shard", min=0, help="Which shard.")],
    endpoint: Endpoint = None,
    model: Model = None,
    gym: Gym = None,
) -> None:
    """Print the job script of a shard's next attempt, without submitting it."""
    sweep = SweepDir(sweep_dir.resolve())
    directory = sweep.shard(shard)
    read_shard_record(directory)
    loaded = load_manifest(sweep.manifest, overrides=policy_overrides(endpoint, model))
    settings = job_settings(loaded, environ=os.environ, gym=gym)
    text = render_job(directory, sweep, read_ledger(directory).last_number + 1, settings)
    typer.echo(text, nl=False)
