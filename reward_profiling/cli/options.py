"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

SweepPath = Annotated[Path, typer.Argument(metavar="SWEEP_DIR", help="The directory of a materialized sweep.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Gym = Annotated[
    str | None,
    typer.Option("--gym", help="The gym executable, or `simulated` for the collector stand-in [REWARD_PROFILING_GYM]."),
]
SchedulerKind = Annotated[
    str | None,
    typer.Option("--scheduler", help="`slurm` or `local`; Slurm where it is found [REWARD_PROFILING_SCHEDULER]."),
]
Endpoint = Annotated[
    str | None, typer.Option("--endpoint", help="The policy is served at this OpenAI-compatible URL already.")
]
Model = Annotated[str | None, typer.Option("--model", help="The model to ask for.")]
