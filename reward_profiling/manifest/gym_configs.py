"""NeMo Gym's config files as data: what they include, what they declare, what they refer to.

Promise: files are read, never executed or resolved; `gym_resolve` asks NeMo Gym itself. Semantics as Gym contract 2:
included files come before the including one, later files win, nested paths are looked for in the roots and never in
the including file's own folder.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reward_profiling.errors import ManifestError
from reward_profiling.manifest.known import GYM_SERVER_TYPES
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.yaml_tree import parse_lenient

Instances = Mapping[str, Any]
_INTERPOLATION = re.compile(r"\$\{([^${}]+)\}")


@dataclass(frozen=True)
class ConfigFile:
    """One config file: the path as written, where it is, and its values."""

    written: str
    path: Path
    values: Mapping[str, Any]


@dataclass
class Configs:
    """Files in the order in which NeMo Gym merges them, and what could not be read."""

    files: list[ConfigFile] = field(default_factory=list)
    not_found: list[tuple[str, str]] = field(default_factory=list)
    """(path, the file that includes it or "")"""
    unreadable: list[str] = field(default_factory=list)
    """One line each, with file, line and column."""

    @property
    def complete(self) -> bool:
        """Whether every file was found and read, so that absence of a name means something."""
        return not self.not_found and not self.unreadable

    def merged(self) -> dict[str, Any]:
        """All files as one mapping."""
        result: dict[str, Any] = {}
        for each in self.files:
            result = merge(result, each.values)
        return result


def read(paths: Iterable[str], roots: SearchRoots) -> Configs:
    """Read the configs that `paths` name and all that they include."""
    configs = Configs()
    seen: set[Path] = set()

    def visit(written: str, includer: str) -> None:
        found = roots.find(written)
        if found is None:
            configs.not_found.append((written, includer))
            return
        real = found.path.resolve()
        if real in seen:
            return
        seen.add(real)
        try:
            values = parse_lenient(found.path)
        except ManifestError as error:
            configs.unreadable.append(str(error))
            return
        included = values.get("config_paths")
        for each in included if isinstance(included, list) else ():
            if isinstance(each, str):
                visit(each, str(found.path))
        configs.files.append(ConfigFile(written, found.path, values))

    for path in paths:
        visit(path, "")
    return configs


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`: mappings merge, anything else is replaced."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        result[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def declared(values: Instances, server_type: str) -> list[str]:
    """Names of the instances of `server_type` in a config's values."""
    return [name for name, value in values.items() if isinstance(value, Mapping) and server_type in value]


@dataclass(frozen=True)
class Reference:
    """One server's mention of another, such as a judge's: where it stands, and the type and name it asks for."""

    path: tuple[str, ...]
    server_type: str
    name: str


def references(value: Any, path: tuple[str, ...] = ()) -> Iterator[Reference]:
    """Every `{type: <server type>, name: <name>}` below `value`."""
    if isinstance(value, Mapping):
        kind, name = value.get("type"), value.get("name")
        if isinstance(kind, str) and kind in GYM_SERVER_TYPES and isinstance(name, str):
            yield Reference(path, kind, name)
        for key, item in value.items():
            yield from references(item, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from references(item, (*path, str(index)))


def interpolations(value: Any) -> Iterator[str]:
    """The inside of every `${...}` below `value`."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from interpolations(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from interpolations(item)
    elif isinstance(value, str):
        yield from _INTERPOLATION.findall(value)
