"""`reward-profiling check`: every invariant of a sweep directory, without changing it."""

import os

import typer

from reward_profiling.cli.options import Json, SweepPath
from reward_profiling.cli.output import out, print_json, table
from reward_profiling.launch.check_ledgers import check_ledgers
from reward_profiling.sweep.check import check_sweep
from reward_profiling.sweep.completeness import load_plan
from reward_profiling.sweep.findings import Check
from reward_profiling.sweep.layout import SweepDir

_MOST_SHOWN = 20


def register(app: typer.Typer) -> None:
    app.command()(check)


def check(sweep_dir: SweepPath, json: Json = False) -> None:
    """Assert that nothing is lost, doubled or misplaced, reading everything anew. Exit code 1 when it is."""
    sweep = SweepDir(sweep_dir.resolve())
    plan = load_plan(sweep, os.environ)
    checks = [*check_sweep(plan), check_ledgers(plan)]
    ok = all(each.ok for each in checks)
    if json:
        print_json(
            {"sweep": sweep.nickname, "path": str(sweep.path), "ok": ok, "checks": [_document(c) for c in checks]}
        )
    else:
        _show(sweep, checks)
    raise typer.Exit(0 if ok else 1)


def _document(check: Check) -> dict[str, object]:
    return {
        "name": check.name,
        "promise": check.promise,
        "ok": check.ok,
        "looked_at": check.looked_at,
        "findings": check.findings,
    }


def _show(sweep: SweepDir, checks: list[Check]) -> None:
    shown = table(str(sweep.path), "check", "", "promise", "looked at", text=3)
    for each in checks:
        verdict = "ok" if each.ok else f"{len(each.findings)} FAILED"
        shown.add_row(each.name, verdict, each.promise, f"{each.looked_at:,}")
    out.print(shown)
    for each in checks:
        for finding in each.findings[:_MOST_SHOWN]:
            out.print(f"{each.name}: {finding}", markup=False, soft_wrap=True)
        if len(each.findings) > _MOST_SHOWN:
            out.print(f"{each.name}: and {len(each.findings) - _MOST_SHOWN} more", markup=False)
