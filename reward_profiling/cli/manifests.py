"""`reward-profiling validate`, `settings`, `schema`: what a manifest says, and whether it is right."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reward_profiling.cli.options import Json
from reward_profiling.cli.output import err, out, print_json, table
from reward_profiling.errors import ManifestError
from reward_profiling.files import write_text
from reward_profiling.launch.cluster_check import check_cluster
from reward_profiling.manifest import container_config as container
from reward_profiling.manifest.json_schema import json_schema
from reward_profiling.manifest.load import load_manifest
from reward_profiling.manifest.roots import gym_command
from reward_profiling.manifest.validate import FIRST_ROWS, Level, validate_file
from reward_profiling.manifest.validation.findings import Findings

Manifests = Annotated[list[Path], typer.Argument(metavar="MANIFEST…", help="Manifest files.")]
Manifest = Annotated[Path, typer.Argument(metavar="MANIFEST", help="A manifest file.")]


def register(app: typer.Typer) -> None:
    app.command()(validate)
    app.command()(settings)
    app.command()(schema)
    app.command()(container_config)


def validate(
    manifests: Manifests,
    schema_only: Annotated[bool, typer.Option("--schema-only", help="Look at the manifests alone.")] = False,
    skip_data: Annotated[bool, typer.Option("--skip-data", help="Do not read datasets.")] = False,
    sample_rows: Annotated[int, typer.Option(min=0, help="Rows to read per dataset; 0 reads all.")] = FIRST_ROWS,
    resolve: Annotated[bool, typer.Option("--resolve", help="Let the installed Gym resolve the configs too.")] = False,
    json: Json = False,
) -> None:
    """Check manifests without starting anything. Exit code 2 when one has an error."""
    level: Level = "schema" if schema_only else "no-data" if skip_data else "full"
    gym = gym_command(os.environ) if resolve else None
    if resolve and gym is None:
        raise ManifestError("--resolve needs an installed NeMo Gym", cure="set REWARD_PROFILING_GYM or leave it out")
    found = [
        _with_cluster(validate_file(path, level=level, sample_rows=sample_rows, resolve_with=gym), level)
        for path in manifests
    ]
    if json:
        print_json([findings.as_dict() for findings in found])
    else:
        for findings in found:
            show_findings(findings)
            out.print(_verdict(findings), markup=False)
    raise typer.Exit(0 if all(findings.ok for findings in found) else 2)


def _with_cluster(findings: Findings, level: Level) -> Findings:
    """What the cluster of this machine has to say, for a manifest that loads."""
    if level == "schema" or not findings.ok:
        return findings
    return replace(findings, errors=check_cluster(load_manifest(findings.manifest)))


def show_findings(findings: Findings) -> None:
    """Errors, then warnings, one line each, on standard error."""
    for kind, problems in (("error", findings.errors), ("warning", findings.warnings)):
        for problem in problems:
            err.print(f"{kind}: {problem.text}", markup=False, soft_wrap=True)


def _verdict(findings: Findings) -> str:
    rows = sum(findings.rows_checked.values())
    read = f", {rows} rows read" if findings.rows_checked else ""
    word = "ok" if findings.ok else f"{len(findings.errors)} error(s)"
    return f"{findings.manifest}: {word}, {len(findings.warnings)} warning(s){read}"


def settings(manifest: Manifest, json: Json = False) -> None:
    """Show each setting, its value and where it came from: manifest, environment or command line."""
    loaded = load_manifest(manifest)
    if json:
        print_json([{"name": each.name, "value": each.value, "origin": each.origin} for each in loaded.settings])
        return
    shown = table(f"{manifest}", "setting", "value", "origin", text=3)
    for each in loaded.settings:
        shown.add_row(each.name, "" if each.value is None else str(each.value), each.origin)
    out.print(shown)


def schema() -> None:
    """Print the JSON Schema of manifests, for editors."""
    print_json(json_schema())


def container_config(
    manifests: Manifests,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the config.")],
) -> None:
    """Write one Gym config that covers all manifests, for building an image; policy and secrets are placeholders."""
    write_text(output, container.render([load_manifest(path) for path in manifests]))
    out.print(f"{output}: covers {len(manifests)} manifest(s)", markup=False)
