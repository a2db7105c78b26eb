"""`reward-profiling profile`: of a sweep, or of two files as `gym eval profile` does it."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from reward_profiling.cli.options import Json
from reward_profiling.cli.output import note, out, print_json, table
from reward_profiling.errors import BadInputError
from reward_profiling.sweep.layout import SweepDir


def register(app: typer.Typer) -> None:
    app.command()(profile)


def profile(
    sweep_dir: Annotated[Path | None, typer.Argument(metavar="[SWEEP_DIR]", help="A sweep's directory.")] = None,
    inputs: Annotated[Path | None, typer.Option("--inputs", help="A work list.")] = None,
    rollouts: Annotated[Path | None, typer.Option("--rollouts", help="The rollouts of that work list.")] = None,
    allow_partial: Annotated[
        bool, typer.Option("--allow-partial", help="With --inputs: profile although rollouts are missing.")
    ] = False,
    json: Json = False,
) -> None:
    """Profile the rewards of a sweep, or of a work list and its rollouts.

    A sweep's profile goes to its profiles/ folder, and the exit code is 1 while rollouts are outstanding. With --inputs
    and --rollouts the three files of `gym eval profile` are written beside the rollouts.
    """
    if sweep_dir is not None and inputs is None and rollouts is None:
        _sweep(SweepDir(sweep_dir.resolve()), json=json)
    elif sweep_dir is None and inputs is not None and rollouts is not None:
        _files(inputs, rollouts, allow_partial=allow_partial, json=json)
    else:
        raise BadInputError("give either a sweep's directory, or both --inputs and --rollouts")


def _sweep(sweep: SweepDir, *, json: bool) -> None:
    # Imported here: statistics take a second to load, which no other command should wait for.
    from reward_profiling.profile.refresh import refresh

    made = refresh(sweep, os.environ)
    if json:
        print_json(
            {
                "sweep": sweep.nickname,
                "complete": made.complete,
                "simulated": made.simulated,
                "mixed": made.mixed,
                "environments": made.summary.to_dicts(),
                "summary": str(made.summary_path),
                "tables": {label: str(path) for label, path in made.tables.items()},
            }
        )
    else:
        show_summary(sweep.nickname, made.summary)
        note(f"profiles: {made.summary_path.parent}")
    raise typer.Exit(0 if made.complete else 1)


def show_summary(nickname: str, summary: pl.DataFrame) -> None:
    """Print a profile's summary: a row per environment."""
    marks = []
    if summary["simulated"].any():
        marks.append("simulated")
    if not summary["complete"].all():
        marks.append("PARTIAL")
    if any(summary["mixed"]):
        marks.append(f"MIXED: {summary['mixed'].first()!s}")
    title = f"{nickname} ({', '.join(marks)})" if marks else nickname
    columns = ("tasks", "rollouts", "reward", "passed", "all pass", "mixed", "all fail", "tokens out")
    shown = table(title, "environment", *columns)
    for row in summary.iter_rows(named=True):
        shown.add_row(
            row["label"],
            f"{row['tasks']:,}",
            f"{row['scored']:,}" + ("" if row["complete"] else f" of {row['expected']:,}"),
            _number(row["mean_reward"], "{:.3f}"),
            *(
                _number(row[name], "{:.1%}")
                for name in ("pass_rate", "share_all_pass", "share_mixed", "share_all_fail")
            ),
            _number(row["mean_output_tokens"], "{:,.0f}"),
        )
    out.print(shown)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _files(inputs: Path, rollouts: Path, *, allow_partial: bool, json: bool) -> None:
    from reward_profiling.profile.gym_profile import profile_files

    outcome = profile_files(inputs, rollouts, allow_partial=allow_partial)
    counts, files = outcome.completion, outcome.files
    written = {"groups": str(files.groups), "agents": str(files.agents), "repeats": str(files.repeats)}
    if json:
        print_json({**asdict(counts), "percent": counts.percent, "files": written})
        return
    out.print(f"{counts.collected:,} of {counts.expected:,} rollouts ({counts.percent:.2f}%), {counts.masked:,} masked")
    out.print(
        f"{counts.groups:,} groups: {counts.complete:,} complete, {counts.partial:,} partial, {counts.empty:,} empty"
    )
    for path in written.values():
        out.print(path, markup=False, soft_wrap=True)
