"""What validation found: errors and warnings, apart, each with its place.

Promise: findings are data; who prints them decides how. `Findings.ok` is false exactly when there is an error.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Literal

from reward_profiling.manifest.load import LoadedManifest
from reward_profiling.manifest.problems import Path, Problem, dotted
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.schema import Manifest

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One problem and how grave it is."""

    severity: Severity
    problem: Problem


@dataclass(frozen=True)
class Findings:
    """Everything that validation of one manifest found."""

    manifest: FilePath
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    rows_checked: Mapping[str, int] = field(default_factory=dict)
    """Rows looked at, by label; empty when datasets were not read."""

    @classmethod
    def of(cls, manifest: FilePath, found: Iterable[Finding], rows_checked: Mapping[str, int]) -> "Findings":
        """Findings in their order, each once."""
        unique = list(dict.fromkeys(found))
        errors = tuple(each.problem for each in unique if each.severity == "error")
        warnings = tuple(each.problem for each in unique if each.severity == "warning")
        return cls(manifest, errors, warnings, dict(rows_checked))

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; warnings do not count."""
        return not self.errors

    def as_dict(self) -> dict[str, Any]:
        """For `--json`: `manifest`, `ok`, `errors`, `warnings` (place, path, problem, cure each), `rows_checked`."""
        return {
            "manifest": str(self.manifest),
            "ok": self.ok,
            "errors": [_as_dict(problem) for problem in self.errors],
            "warnings": [_as_dict(problem) for problem in self.warnings],
            "rows_checked": dict(self.rows_checked),
        }


def _as_dict(problem: Problem) -> dict[str, str]:
    path = dotted(problem.path)
    return {"place": problem.place, "path": path, "problem": problem.problem, "cure": problem.cure}


@dataclass(frozen=True)
class Subject:
    """What a check looks at, and how it words a finding."""

    loaded: LoadedManifest
    roots: SearchRoots
    environ: Mapping[str, str]

    @property
    def manifest(self) -> Manifest:
        return self.loaded.manifest

    def error(self, path: Path, problem: str, cure: str = "") -> Finding:
        """An error at a key of the manifest."""
        return Finding("error", Problem(self.loaded.place(*path), path, problem, cure))

    def warning(self, path: Path, problem: str, cure: str = "") -> Finding:
        """A warning at a key of the manifest."""
        return Finding("warning", Problem(self.loaded.place(*path), path, problem, cure))

    def named_configs(self) -> Iterator[tuple[Path, str]]:
        """Every NeMo Gym config that the manifest names, with its place."""
        for number, entry in enumerate(self.manifest.entries):
            for index, path in enumerate(entry.configs):
                yield ("entries", number, "configs", index), path
        for index, path in enumerate(self.manifest.gym_env_start.config_paths):
            yield ("gym_env_start", "config_paths", index), path
