"""`reward-profiling validate`, `settings`, `schema`: what a manifest says, and whether it is right."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from reward_profiling.cli.options import Json
from reward_profiling.cli.output import err, out, print_json, table
from reward_profiling.errors import BadInputError, ManifestError
from reward_profiling.files import storage_error, write_text
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
    max_nodes: Annotated[
        int | None,
        typer.Option(min=1, envvar="REWARD_PROFILING_MAX_NODES_PER_JOB", help="Nodes that the cluster allows one job."),
    ] = None,
    resolve: Annotated[bool, typer.Option("--resolve", help="Let the installed Gym resolve the configs too.")] = False,
    json: Json = False,
) -> None:
    """Check manifests without starting anything. Exit code 2 when one has an error."""
    level: Level = "schema" if schema_only else "no-data" if skip_data else "full"
    gym = gym_command(os.environ) if resolve else None
    if resolve and gym is None:
        raise ManifestError("--resolve needs an installed NeMo Gym", cure="set REWARD_PROFILING_GYM or leave it out")
    found = [
        _with_cluster(
            validate_file(path, level=level, sample_rows=sample_rows, resolve_with=gym, max_nodes_per_job=max_nodes),
            level,
        )
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
    image: Annotated[
        Path | None, typer.Option("--image", help="The config an image was built from: say which servers it lacks.")
    ] = None,
) -> None:
    """Write one Gym config that covers all manifests, for building an image; policy and secrets are placeholders.

    With --image the exit code is 1 when that image lacks a server.
    """
    loaded = [load_manifest(path) for path in manifests]
    text = container.render(loaded)
    lacking = [] if image is None else container.missing(_config(text), _config(_read(image)), loaded[0].roots)
    write_text(output, text)
    out.print(f"{output}: covers {len(manifests)} manifest(s)", markup=False)
    for kind, name in lacking:
        err.print(f"{image} lacks {kind}/{name}", markup=False)
    raise typer.Exit(1 if lacking else 0)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise storage_error(path, error) from error


def _config(text: str) -> dict[str, Any]:
    values = yaml.safe_load(text)
    if not isinstance(values, dict):
        raise BadInputError(
            "this is no NeMo Gym config", place="--image", cure="give the config the image was built from"
        )
    return values
