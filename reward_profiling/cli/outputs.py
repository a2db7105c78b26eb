"""`reward-profiling merge` and `split`: what a sweep has collected, as one file or as one directory per environment."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from reward_profiling.cli.options import Json, SweepPath
from reward_profiling.cli.output import note, out, print_json, table
from reward_profiling.launch.overview import counts_document
from reward_profiling.sweep.completeness import load_plan
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.merge import Merged
from reward_profiling.sweep.merge import merge as merge_sweep
from reward_profiling.sweep.split import Split
from reward_profiling.sweep.split import split as split_sweep
from reward_profiling.sweep.status import total


def register(app: typer.Typer) -> None:
    app.command()(merge)
    app.command()(split)


def merge(
    sweep_dir: SweepPath,
    output: Annotated[
        Path | None, typer.Option("--output", help="The file to write; SWEEP_DIR/rollouts.jsonl by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Write all rollouts to one file, each once, and all failed attempts to one beside it. Exit code 1 when partial."""
    sweep = SweepDir(sweep_dir.resolve())
    made = merge_sweep(load_plan(sweep, os.environ), output or sweep.path / "rollouts.jsonl")
    paths = {"rollouts": str(made.rollouts), "failures": str(made.failures)}
    _show(sweep, made, {**paths, "failed_attempts": made.failed_attempts}, list(paths.values()), json=json)


def split(
    sweep_dir: SweepPath,
    out_dir: Annotated[
        Path | None, typer.Option("--out-dir", help="Where the directories go; SWEEP_DIR/by_label by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Write one directory per environment: rollouts, failed attempts, work list. Exit code 1 when partial."""
    sweep = SweepDir(sweep_dir.resolve())
    made = split_sweep(load_plan(sweep, os.environ), out_dir or sweep.path / "by_label")
    folders = {label: str(path) for label, path in made.folders.items()}
    _show(sweep, made, {"directories": folders}, list(folders.values()), json=json)


def _show(sweep: SweepDir, made: Merged | Split, document: dict[str, Any], paths: list[str], *, json: bool) -> None:
    if json:
        counts = {label: counts_document(each) for label, each in made.by_label.items()}
        without = made.without_rollouts
        marks = {"complete": made.complete, "environments": counts, "without_rollouts": without}
        print_json({"sweep": sweep.nickname, **document, **marks})
    else:
        shown = table(sweep.nickname, "environment", "rollouts", "expected", "outstanding")
        for label, each in made.by_label.items():
            shown.add_row(label, f"{each.succeeded:,}", f"{each.expected:,}", f"{each.outstanding:,}")
        out.print(shown)
        for path in paths:
            out.print(path, markup=False)
    for label in made.without_rollouts:
        note(f"{label}: no rollouts at all")
    if not made.complete:
        note(f"INCOMPLETE: {total(made.by_label.values()).outstanding} rollouts are outstanding")
        raise typer.Exit(1)
