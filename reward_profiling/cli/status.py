"""`reward-profiling status`: how far a sweep is."""

import os
import time

import typer

from reward_profiling.cli.options import Json, SweepPath
from reward_profiling.cli.output import out, print_json, table
from reward_profiling.launch.overview import SweepOverview, document, overview
from reward_profiling.sweep.completeness import load_plan
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.pace import Pace, shard_pace
from reward_profiling.sweep.status import Counts


def register(app: typer.Typer) -> None:
    app.command()(status)


def status(sweep_dir: SweepPath, json: Json = False) -> None:
    """Show per shard and per environment what is done, failed and outstanding. Exit code 1 while anything is owed."""
    found = overview(load_plan(SweepDir(sweep_dir.resolve()), os.environ))
    if json:
        print_json(document(found))
    else:
        show(found)
    raise typer.Exit(0 if found.complete else 1)


def show(found: SweepOverview) -> None:
    """Print the tables of an overview."""
    name = f"{found.plan.report.nickname}{' (simulated)' if found.simulated else ''}"
    state = "complete" if found.complete else "INCOMPLETE"
    columns = ("expected", "succeeded", "masked", "failed", "outstanding", "per hour", "time left")
    environments = table(f"{name}: {state}", "environment", *columns)
    for label, counts in found.by_label.items():
        environments.add_row(label, *_cells(counts, found.pace_of(label)))
    environments.add_row("all", *_cells(found.counts, found.pace), style="bold")
    shards = table("", "shard", "phase", *columns, "last row", "attempts", text=2)
    for shard in found.shards:
        phase = f"{shard.phase}: {shard.ledger.stopped}" if shard.phase == "stopped" else shard.phase
        cells = _cells(shard.status.counts, shard_pace(shard.status))
        age, attempts = _age(shard.status.last_row_at), str(len(shard.ledger.attempts))
        shards.add_row(shard.status.shard, phase, *cells, age, attempts)
    out.print(environments)
    out.print(shards)
    failed = found.counts.failed
    if failed:
        out.print("failed: " + ", ".join(f"{kind} {number}" for kind, number in failed.items()), markup=False)
    odd = [
        shard.status for shard in found.shards if shard.status.duplicates + shard.status.foreign + shard.status.broken
    ]
    for status in odd:
        out.print(
            f"{status.shard}: left out {status.duplicates} duplicate, {status.foreign} foreign and {status.broken} "
            "broken rows; the next attempt moves them to rejected.jsonl",
            markup=False,
        )


def _cells(counts: Counts, pace: Pace) -> tuple[str, ...]:
    numbers = (counts.expected, counts.succeeded, counts.masked, counts.failed_total, counts.outstanding)
    rate = "-" if pace.per_hour is None else f"{pace.per_hour:,.0f}"
    left = "-" if pace.seconds_left is None else f"{'≥ ' if pace.at_least else ''}{_duration(pace.seconds_left)}"
    return (*(f"{number:,}" for number in numbers), rate, left)


def _age(moment: float | None) -> str:
    return "-" if moment is None else f"{_duration(max(time.time() - moment, 0))} ago"


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
