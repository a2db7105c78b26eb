"""`reward-profiling demo`: the checkout's demo sweep, through Dagster, to a printed table of rewards.

Promise: nothing is special about the demo but its size: it is `manifests/demo.yaml`, materialized by the commands that
any sweep takes. It can be run again: what is collected already is not collected again.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import typer

from reward_profiling.cli.options import Gym
from reward_profiling.cli.output import note
from reward_profiling.cli.profile import show_summary
from reward_profiling.errors import IncompleteError, LaunchError
from reward_profiling.launch.gym_command import SIMULATED
from reward_profiling.launch.gym_command import VARIABLE as GYM_VARIABLE
from reward_profiling.manifest.load import load_manifest
from reward_profiling.sweep.layout import SweepDir, shard_name

_MANIFEST = Path("manifests/demo.yaml")
_SWEEPS_VARIABLE = "REWARD_PROFILING_SWEEPS_DIR"
_HOME_VARIABLE = "DAGSTER_HOME"


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(gym: Gym = None) -> None:
    """Run the demo sweep of this checkout through Dagster; with the collector stand-in unless a Gym is given."""
    if not _MANIFEST.is_file():
        raise LaunchError("there is no manifests/demo.yaml here", cure="run this in a checkout of reward_profiling")
    gym = gym or os.environ.get(GYM_VARIABLE) or SIMULATED
    home = _dagster_home()
    environ = {**os.environ, GYM_VARIABLE: gym, _HOME_VARIABLE: str(home)}
    manifest = load_manifest(_MANIFEST).manifest
    nickname, last = manifest.nickname, shard_name(manifest.num_shards - 1)
    log = home / "demo.log"
    log.write_bytes(b"")
    note(f"collecting the {nickname} sweep through Dagster, gym: {gym} (log: {log})")
    _materialize(
        [
            "--select",
            f'group:"{nickname}" and not key:"{nickname}/profiles"',
            "--partition-range",
            f"shard_000...{last}",
        ],
        environ,
        log,
    )
    note("profiling it, and refreshing the catalog over all sweeps")
    _materialize(["--select", "profiles"], environ, log)
    sweeps = Path(os.environ.get(_SWEEPS_VARIABLE) or "sweeps").absolute()
    profiles = SweepDir(sweeps / nickname).profiles
    show_summary(nickname, pl.read_parquet(profiles / "summary.parquet"))
    note(f"profiles: {profiles}\ncatalog:  {sweeps / 'catalog.duckdb'}")
    note(f"to see it in Dagster: make ui{' GYM=simulated' if gym == SIMULATED else ''}, then http://127.0.0.1:3000")


def _dagster_home() -> Path:
    home = Path(os.environ.get(_HOME_VARIABLE) or ".dagster").absolute()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copyfile("dagster.yaml", home / "dagster.yaml")
    return home


def _materialize(arguments: list[str], environ: dict[str, str], log: Path) -> None:
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "reward_profiling.definitions"]
    with log.open("ab") as stream:
        done = subprocess.run([*command, *arguments], env=environ, stdout=stream, stderr=stream, check=False)
    if done.returncode:
        raise IncompleteError("Dagster could not materialize the demo", place=str(log), cure="read the end of this log")
