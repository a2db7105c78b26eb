"""One walk over a composed YAML document: plain values, the place of each, and everything that is refused.

Promise: anchors, aliases and merge keys work; duplicate keys, tags, loops, endless expansion, keys that are no text and
values that no file or command takes become problems with their line and column.
"""

import math
from collections.abc import Iterator
from typing import Any

import yaml

from reward_profiling.manifest.problems import Path, Problem, refuse

_MAX_VALUES = 50_000
"""Values after aliases are expanded: a few lines of nested aliases can stand for billions."""

_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map", "merge")}


class NodeReader:
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
            self._problem(node, path, f"the tag `{_short(node.tag)}` is not used in manifests", "remove the tag")
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
            self._problem(node, path, f"`{node.value}` does not fit its tag `{_short(node.tag)}`", "remove the tag")
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._problem(node, path, f"`{node.value}` is not a finite number", "give a number")
            return None
        if isinstance(value, str) and not is_clean(value):
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
            and is_clean(node.value)
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


def _short(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")


def is_clean(text: str) -> bool:
    """False for NUL and for halves of surrogate pairs, which neither a file name nor UTF-8 can hold."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
