"""YAML as plain values with the place of each.

Promise: a document becomes text, numbers, booleans, nulls, lists and dictionaries with text keys, or a
`ManifestProblemsError` that names line and column. Anchors, aliases and merge keys work; duplicate keys, tags, loops
and other types are refused. Scalars mean what NeMo Gym's own configuration loader makes of them, except that
`4:00:00` stays text (YAML 1.1 would make 14400 of it) and so do dates and numbers with leading zeros.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import yaml

from reward_profiling.errors import ManifestError
from reward_profiling.manifest.problems import Path, Problem, refuse

_MAX_BYTES = 16 * 2**20
_MAX_VALUES = 200_000
"""Values after aliases are expanded: a few lines of nested aliases can stand for billions."""

_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map", "merge")}
_INT = r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0b[01_]+)\Z"
_FLOAT = (
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?"
    r"|\.(?:inf|Inf|INF))\Z|\.(?:nan|NaN|NAN)\Z"
)


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars that the module's docstring promises."""


_REPLACED = {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp", "value")}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(_INT), list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(_FLOAT), list("-+0123456789."))


class _Dumper(yaml.SafeDumper):
    """SafeDumper that also quotes text which any reader above or NeMo Gym's would take for a number."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(_FLOAT), list("-+0123456789."))


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
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31)


def scalar(text: str) -> Any:
    """One value written in YAML's flow style, as in an environment variable; text when it is nothing else.

    Raises ValueError when `text` is not a value, such as an unclosed bracket.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - _Loader is a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError("not a value") from error


def parse_lenient(path: FilePath) -> dict[str, Any]:
    """A config file that is not ours, with whatever YAML allows; raises ManifestError unless it is a mapping."""
    try:
        value = yaml.load(path.read_bytes(), Loader=_Loader)  # noqa: S506 - _Loader is a SafeLoader
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
        node = yaml.compose(text, Loader=_Loader)
        if node is None:
            refuse([Problem(f"{name}:1:1", (), "is empty", "start from one of the manifests in manifests/examples")])
        reader = _Reader(name)
        value = reader.value(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else f"{name}:1:1"
        refuse([Problem(place, (), f"is not YAML: {error.problem or error.context}")])
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = f"{name}:{before.count(chr(10)) + 1}:{error.position - before.rfind(chr(10))}"
        refuse([Problem(place, (), f"holds the control character {error.character:#x}", "remove it")])
    except RecursionError:
        refuse([Problem(f"{name}:1:1", (), "is nested too deeply to read", "write it flatter")])
    if reader.problems:
        refuse(reader.problems)
    return Tree(name, value, reader.marks)


class _Reader:
    """One walk over composed nodes: values, marks and problems together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.marks: dict[Path, tuple[int, int]] = {}
        self.problems: list[Problem] = []
        self._open: set[int] = set()
        self._count = 0
        self._constructor = yaml.constructor.SafeConstructor()

    def _problem(self, node: yaml.Node, path: Path, problem: str, cure: str = "") -> None:
        place = f"{self.name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
        self.problems.append(Problem(place, path, problem, cure))

    def value(self, node: yaml.Node, path: Path) -> Any:
        self.marks.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
        self._count += 1
        if self._count > _MAX_VALUES:
            self._problem(node, path, f"aliases expand to more than {_MAX_VALUES} values", "write the values out")
            refuse(self.problems)
        if node.tag not in _PLAIN_TAGS:
            self._problem(node, path, f"the tag `{node.tag}` is not used in manifests", "remove the tag")
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if id(node) in self._open:
            self._problem(node, path, "an alias refers to what contains it", "write the value out")
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        try:
            value = self._constructor.construct_object(node)
        except (yaml.YAMLError, ValueError):
            self._problem(node, path, f"`{node.value}` does not fit its tag `{node.tag}`", "remove the tag")
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._problem(node, path, f"`{node.value}` is not a finite number", "give a number")
            return None
        if isinstance(value, str) and not _is_clean(value):
            self._problem(node, path, "the text holds a NUL or half a surrogate pair", "remove it")
            return None
        return value

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        seen: dict[str, int] = {}
        merged: list[dict[str, Any]] = []
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged.extend(self._merged(value_node, path))
                continue
            key = self._key(key_node, path)
            if key is None:
                continue
            if key in seen:
                self._problem(
                    key_node,
                    (*path, key),
                    f"the key `{key}` stands here twice (first in line {seen[key]})",
                    "remove one",
                )
                continue
            seen[key] = key_node.start_mark.line + 1
            self.marks[*path, key] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            values[key] = self.value(value_node, (*path, key))
        for source in merged:
            for key, value in source.items():
                values.setdefault(key, value)
        return values

    def _key(self, node: yaml.Node, path: Path) -> str | None:
        if (
            isinstance(node, yaml.ScalarNode)
            and node.tag == "tag:yaml.org,2002:str"
            and node.value
            and _is_clean(node.value)
        ):
            return str(node.value)
        shown = f"`{node.value}`" if isinstance(node, yaml.ScalarNode) and node.value else "this"
        self._problem(node, path, f"{shown} is not text, so it cannot be a key", "quote it")
        return None

    def _merged(self, node: yaml.Node, path: Path) -> Iterator[dict[str, Any]]:
        """The mappings that `<<` brings in; their keys yield to written ones, and earlier mappings to none."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                self._problem(source, path, "`<<` takes a mapping or a list of mappings", "give an alias of a mapping")
                continue
            value = self.value(source, path)
            if isinstance(value, dict):
                yield value


def _is_clean(text: str) -> bool:
    """False for NUL and for halves of surrogate pairs, which neither a file name nor UTF-8 can hold."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
