"""`reward-profiling materialize` and `diff`: from a manifest to a sweep directory, and what a manifest would change."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from reward_profiling.cli.manifests import Manifest, show_findings
from reward_profiling.cli.options import Json, SweepPath
from reward_profiling.cli.output import note, out, print_json, table
from reward_profiling.cli.progress import progress
from reward_profiling.errors import ManifestError
from reward_profiling.manifest.load import load_manifest
from reward_profiling.manifest.validate import validate
from reward_profiling.sweep import materialize as data_plane
from reward_profiling.sweep.difference import differences
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.report import SweepReport, read_report
from reward_profiling.sweep.request import request_from
from reward_profiling.sweep.settle import Consent

SweepsDir = Annotated[Path, typer.Option("--sweeps-dir", help="Where sweep directories lie.")]


def register(app: typer.Typer) -> None:
    app.command()(materialize)
    app.command()(diff)


def materialize(
    manifest: Manifest,
    sweeps_dir: SweepsDir,
    limit_per_entry: Annotated[
        int | None, typer.Option(min=1, help="Take at most this many rows of each entry.")
    ] = None,
    shuffle: Annotated[
        int | None, typer.Option(min=0, metavar="SEED", help="Shuffle the order of dispatch within each shard.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes that read datasets and write work lists.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a sweep that has no rollouts and no attempts.")
    ] = False,
    discard_rollouts: Annotated[
        bool, typer.Option("--discard-rollouts", help="Set what was collected aside under snapshots/, and start over.")
    ] = False,
    accept_mixed: Annotated[
        bool,
        typer.Option("--accept-mixed", help="Go on although new rollouts mean something else; profiles say so."),
    ] = False,
    json: Json = False,
) -> None:
    """Index the datasets, assign task indices, and write every shard's work list."""
    given = {"materialize.limit_per_entry": limit_per_entry, "materialize.shuffle": shuffle}
    loaded = load_manifest(manifest, overrides=given)
    findings = validate(loaded, level="no-data")
    show_findings(findings)
    if not findings.ok:
        raise ManifestError(f"{len(findings.errors)} error(s), nothing was written", place=str(manifest))
    with progress() as shown:
        report = data_plane.materialize(
            request_from(loaded),
            sweeps_dir.resolve(),
            consent=Consent(overwrite=overwrite, discard_rollouts=discard_rollouts, accept_mixed=accept_mixed),
            effort=data_plane.Effort(jobs or os.cpu_count() or 1, note, shown),
        )
    path = sweeps_dir.resolve() / report.nickname
    if json:
        print_json({"path": str(path), **report.model_dump(mode="json")})
    else:
        _show(report, path)


def _show(report: SweepReport, path: Path) -> None:
    shown = table(f"{report.nickname}: {path}", "environment", "rows", "tasks", "repeats", "rollouts", "task indices")
    for entry in report.entries:
        first, end = entry.task_index_range
        counts = (entry.rows, entry.tasks, entry.repeats, entry.rollouts)
        shown.add_row(entry.label, *(f"{count:,}" for count in counts), f"{first}-{end - 1}")
    shown.add_row("all", "", f"{report.tasks:,}", "", f"{report.rollouts:,}", "", style="bold")
    out.print(shown)


def diff(sweep_dir: SweepPath, manifest: Manifest, json: Json = False) -> None:
    """Show what a manifest would change about a sweep that is there. Exit code 1 when anything differs."""
    found = differences(read_report(SweepDir(sweep_dir.resolve())), load_manifest(manifest))
    if json:
        print_json([asdict(each) for each in found])
    else:
        shown = table(f"{sweep_dir} and {manifest}", "what", "name", "sweep", "manifest", text=4)
        for each in found:
            shown.add_row(each.kind, each.name, _side(each.before), _side(each.after))
        out.print(shown if found else "they agree")
    raise typer.Exit(1 if found else 0)


def _side(value: object) -> str:
    text = "-" if value is None else str(value)
    return f"{text[:20]}…" if text.startswith("sha256:") or len(text) > 60 else text
