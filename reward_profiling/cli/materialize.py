"""`reward-profiling materialize`: from a manifest to a sweep directory."""

import os
from pathlib import Path
from typing import Annotated

import typer

from reward_profiling.cli.manifests import Manifest, show_findings
from reward_profiling.cli.options import Json
from reward_profiling.cli.output import note, out, print_json, table
from reward_profiling.errors import ManifestError
from reward_profiling.manifest.load import load_manifest
from reward_profiling.manifest.validate import validate
from reward_profiling.sweep import materialize as data_plane
from reward_profiling.sweep.report import SweepReport
from reward_profiling.sweep.request import request_from
from reward_profiling.sweep.settle import Consent

SweepsDir = Annotated[Path, typer.Option("--sweeps-dir", help="Where sweep directories lie.")]


def register(app: typer.Typer) -> None:
    app.command()(materialize)


def materialize(
    manifest: Manifest,
    sweeps_dir: SweepsDir,
    limit_per_entry: Annotated[
        int | None, typer.Option(min=1, help="Take at most this many rows of each entry.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes that index the datasets.")] = None,
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
    loaded = load_manifest(manifest, overrides={"materialize.limit_per_entry": limit_per_entry})
    findings = validate(loaded, level="no-data")
    show_findings(findings)
    if not findings.ok:
        raise ManifestError(f"{len(findings.errors)} error(s), nothing was written", place=str(manifest))
    report = data_plane.materialize(
        request_from(loaded),
        sweeps_dir.resolve(),
        jobs=jobs or os.cpu_count() or 1,
        consent=Consent(overwrite=overwrite, discard_rollouts=discard_rollouts, accept_mixed=accept_mixed),
        note=note,
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
