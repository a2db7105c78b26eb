"""The command's entry point: collects the subcommands and turns errors into one line and an exit code."""

import sys

import typer

from reward_profiling.cli import check, demo, manifests, materialize, outputs, profile, reshard, run, script, status
from reward_profiling.cli.output import err
from reward_profiling.errors import RewardProfilingError

app = typer.Typer(
    name="reward-profiling",
    help="Reward profiles of an RL training blend: from a manifest to what a checkpoint has saturated.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (manifests, materialize, run, status, script, reshard, outputs, check, profile, demo):
    module.register(app)


def main() -> None:
    """Run the command and exit."""
    try:
        app()
    except RewardProfilingError as error:
        err.print(f"error: {error}", markup=False, soft_wrap=True)
        sys.exit(error.exit_code)
