"""Everything that can be known to be wrong with a manifest without starting anything.

Promise: all findings are collected, errors and warnings apart, in seconds and without a cluster. Three levels, each
including the one before: `schema` looks at the manifest alone, `no-data` also at configs and the environment, `full`
also at the rows of the datasets.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from reward_profiling.manifest import gym_configs
from reward_profiling.manifest.load import LoadedManifest, load_manifest
from reward_profiling.manifest.problems import ManifestProblemsError
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.validation import (
    config_files,
    datasets,
    gym_resolve,
    job_shape,
    overlay,
    servers,
    variables,
)
from reward_profiling.manifest.validation.datasets import Progress
from reward_profiling.manifest.validation.findings import Finding, Findings, Subject

Level = Literal["schema", "no-data", "full"]
FIRST_ROWS = 100


class Options(TypedDict, total=False):
    """What `validate` may be told."""

    level: Level
    """How far to look; `full` when not given."""
    sample_rows: int
    """Rows per dataset, 0 for all; `FIRST_ROWS` when not given."""
    roots: SearchRoots
    """Where to look for files; the manifest's own roots when not given."""
    environ: Mapping[str, str]
    """The environment that a job would see; the process's own when not given."""
    max_nodes_per_job: int | None
    """Nodes that the cluster allows one job."""
    progress: Progress | None
    """Told about each dataset as it is done."""
    resolve_with: Path | None
    """A `gym` executable that is to resolve the configuration too (not at level `schema`)."""


def validate(loaded: LoadedManifest, **options: Unpack[Options]) -> Findings:
    """Check a loaded manifest."""
    subject = Subject(loaded, options.get("roots", loaded.roots), options.get("environ", os.environ))
    level = options.get("level", "full")
    found: list[Finding] = list(job_shape.check(subject, options.get("max_nodes_per_job")))
    rows: dict[str, int] = {}
    if level != "schema":
        configs = gym_configs.read(loaded.manifest.config_paths, subject.roots)
        found += config_files.check(subject, configs)
        found += servers.check(subject, configs)
        found += overlay.check(subject, configs)
        found += variables.check(subject, configs)
        gym = options.get("resolve_with")
        if gym is not None:
            found += gym_resolve.check(subject, gym)
    if level == "full":
        data = datasets.check(subject, options.get("sample_rows", FIRST_ROWS), options.get("progress"))
        found += data.findings
        rows = data.rows
    return Findings.of(loaded.path, found, rows)


def validate_file(path: Path, overrides: Mapping[str, object] | None = None, **options: Unpack[Options]) -> Findings:
    """Check the manifest at `path`; what does not load becomes errors instead of an exception."""
    try:
        loaded = load_manifest(path, environ=options.get("environ", os.environ), overrides=overrides)
    except ManifestProblemsError as error:
        return Findings(path, errors=error.problems)
    return validate(loaded, **options)
