"""From a file to a manifest: read, resolved, checked, with the place of every value and a digest of it all.

Promise: `load_manifest` gives a manifest that is right as far as it alone can tell, or raises a `ManifestProblemsError`
with every problem found. The file is checked on its own before anything from outside is applied: a manifest alone must
reproduce a sweep.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reward_profiling.manifest import digest, free_rules, rules, settings, yaml_tree
from reward_profiling.manifest.explain import Place, explain, show
from reward_profiling.manifest.names import blocks, sbatch_key
from reward_profiling.manifest.problems import Path as KeyPath
from reward_profiling.manifest.problems import Problem, refuse
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.schema import Manifest
from reward_profiling.manifest.settings import Setting
from reward_profiling.manifest.yaml_tree import Tree


@dataclass(frozen=True)
class LoadedManifest:
    """A manifest with what is known about it; `manifest` is resolved already."""

    path: Path
    manifest: Manifest
    settings: tuple[Setting, ...]
    digest: str
    digest_parts: Mapping[str, str]
    roots: SearchRoots
    tree: Tree = field(repr=False, compare=False)

    def place(self, *keys: str | int) -> str:
        """`file:line:column` of a key, or of the nearest thing around it."""
        return self.tree.place(keys)


def load_manifest(
    path: Path, *, environ: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None
) -> LoadedManifest:
    """Load the manifest at `path`, changed by environment variables and then by `overrides` (`{"vllm.model": "x"}`).

    `environ` is the process's environment when None. Raises `ManifestProblemsError`.
    """
    environ = os.environ if environ is None else environ
    tree = yaml_tree.read(path)
    written = _normalized(tree)
    manifest = _checked(written, tree.place)
    resolved = settings.resolve(written, environ, overrides or {})
    if resolved.problems:
        refuse(resolved.problems)
    if resolved.origins:

        def place(key: KeyPath) -> str:
            return next(
                (resolved.origins[key[:n]] for n in range(len(key), 0, -1) if key[:n] in resolved.origins),
                tree.place(key),
            )

        manifest = _checked(resolved.values, place)
    roots = SearchRoots.of(path.absolute().parent, environ)
    covered = digest.parts(manifest, roots)
    table = settings.table(manifest, resolved, written)
    return LoadedManifest(path, manifest, table, digest.of(covered), covered, roots, tree)


def _normalized(tree: Tree) -> dict[str, Any]:
    """The values with empty blocks as empty mappings and `sbatch` options by one spelling; refuses anything else."""
    if not isinstance(tree.value, dict):
        cure = "begin with `nickname: ...`"
        refuse([Problem(tree.place(()), (), f"a manifest is a mapping of blocks, not {show(tree.value)}", cure)])
    written = {key: {} if value is None and key in blocks() else value for key, value in tree.value.items()}
    if isinstance(written.get("sbatch"), dict):
        written["sbatch"] = _one_spelling(written["sbatch"], tree)
    return written


def _one_spelling(options: dict[str, Any], tree: Tree) -> dict[str, Any]:
    normal: dict[str, Any] = {}
    problems = []
    for key, value in options.items():
        name = sbatch_key(key)
        path = ("sbatch", name)
        if name in normal:
            problems.append(Problem(tree.place(("sbatch", key)), path, f"`sbatch` says `{name}` twice", "remove one"))
        tree.marks[path] = tree.marks["sbatch", key]
        normal[name] = value
    if problems:
        refuse(problems)
    return normal


def _checked(values: dict[str, Any], place: Place) -> Manifest:
    """`values` as a manifest, or every problem of it."""
    problems = list(free_rules.check(values, place))
    manifest = None
    try:
        manifest = Manifest.model_validate(values)
        problems += rules.check(manifest, place)
    except ValidationError as error:
        problems += explain(error, values, Manifest, place)
    if problems or manifest is None:
        first = {problem.path: problem for problem in reversed(problems)}
        refuse(sorted(first.values(), key=lambda problem: _in_file_order(problem.place)))
    return manifest


def _in_file_order(place: str) -> tuple[int, int]:
    """Sorts places by line and column; what came from outside the file stands first."""
    parts = place.rsplit(":", 2)
    return (int(parts[1]), int(parts[2])) if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit() else (0, 0)
