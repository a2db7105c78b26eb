"""YAML as plain values with the place of each.

Promise: a document becomes text, numbers, booleans, nulls, lists and dictionaries with text keys, or a
`ManifestProblemsError` that names line and column. `dump` writes what `parse` and NeMo Gym read back as it was.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import yaml

from reward_profiling.errors import ManifestError
from reward_profiling.manifest.problems import Path, Problem, refuse
from reward_profiling.manifest.yaml_reader import NodeReader, is_clean
from reward_profiling.manifest.yaml_scalars import Dumper, Loader

_MAX_BYTES = 16 * 2**20


@dataclass
class Tree:
    """The values of one document and where each stands: (line, column) from 1, of the key, or of a list's item."""

    file: str
    value: Any
    marks: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def place(self, path: Path) -> str:
        """`file:line:column` of `path`, or of the nearest thing around it that the document holds."""
        while path and path not in self.marks:
            path = path[:-1]
        line, column = self.marks.get(path, (1, 1))
        return f"{self.file}:{line}:{column}"


def dump(value: Any) -> str:
    """`value` as YAML in block style, keys in their order, that `parse` and NeMo Gym both read back as it was."""
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=2**31)


def scalar(text: str) -> Any:
    """One value written in YAML's flow style, as in an environment variable; text when it is nothing else.

    Raises ValueError when `text` is not a value, such as an unclosed bracket.
    """
    try:
        return yaml.load(text, Loader=Loader)  # noqa: S506 - Loader is a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError("not a value") from error


def is_plain(value: Any) -> bool:
    """Whether a value is of the kinds that `parse` gives, so that it can be dumped and digested."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, str):
        return is_clean(value)
    return value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def parse_lenient(path: FilePath) -> dict[str, Any]:
    """A config file that is not ours, with whatever YAML allows; raises ManifestError unless it is a mapping."""
    try:
        value = yaml.load(path.read_bytes(), Loader=Loader)  # noqa: S506 - Loader is a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise ManifestError(f"is not YAML: {error.problem or error.context}", place=place) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ManifestError("is not YAML", place=str(path)) from error
    except OSError as error:
        raise ManifestError((error.strerror or str(error)).lower(), place=str(path)) from error
    if not isinstance(value, dict):
        raise ManifestError("is not a mapping of server instances", place=f"{path}:1:1")
    return value


def read(path: FilePath) -> Tree:
    """The tree of the file at `path`; the file's name in places is the path as given."""
    name = str(path)
    try:
        if path.stat().st_size > _MAX_BYTES:
            refuse([Problem(name, (), "is larger than 16 MiB, so it is no manifest", "give the YAML file of a sweep")])
        content = path.read_bytes()
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error)).lower()
        refuse([Problem(name, (), reason, "give the path of a manifest")])
    return parse(content, name)


def parse(content: bytes, name: str) -> Tree:
    """The tree of one YAML document; `name` stands for the file in every place."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        refuse([Problem(f"{name}:{line}:{column}", (), "is not UTF-8", "save the file as UTF-8")])
    try:
        node = yaml.compose(text, Loader=Loader)
        if node is None:
            refuse([Problem(f"{name}:1:1", (), "is empty", "start from one of the manifests in manifests/examples")])
        reader = NodeReader(name)
        value = reader.value(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else f"{name}:1:1"
        refuse([Problem(place, (), *_syntax(error))])
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = f"{name}:{before.count(chr(10)) + 1}:{error.position - before.rfind(chr(10))}"
        refuse([Problem(place, (), f"holds the control character {error.character:#x}", "remove it")])
    except RecursionError:
        refuse([Problem(f"{name}:1:1", (), "is nested too deeply to read", "write it flatter")])
    if reader.problems:
        refuse(reader.problems)
    return Tree(name, value, reader.marks)


def _syntax(error: yaml.MarkedYAMLError) -> tuple[str, str]:
    """Problem and cure of a text that is not YAML."""
    said = error.problem or error.context or "broken"
    if said.startswith("but "):
        said = f"{error.context}, {said}"
    cures = {"mapping values": "mend the indentation, or quote text that holds a colon", "'\\t'": "indent with spaces"}
    return f"is not YAML: {said}", next((cure for mark, cure in cures.items() if mark in said), "")
