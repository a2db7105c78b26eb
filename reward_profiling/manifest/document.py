"""The documentation of every key of a manifest, generated from the models' own docstrings.

Promise: one table per block, in the order of the models: key, type, default, environment variables, meaning.
"""

import types
import typing
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from reward_profiling.manifest.block import FreeBlock
from reward_profiling.manifest.entry import Entry
from reward_profiling.manifest.names import blocks, variables
from reward_profiling.manifest.schema import Manifest

_PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "", Any: "anything"}


def document() -> str:
    """The text of docs/manifest.md."""
    known = blocks()
    single = [name for name in Manifest.model_fields if name not in known and name != "entries"]
    parts = [_INTRODUCTION, "## Top level\n", _table(Manifest, single, ())]
    parts += [f"## entries\n\n{_one_line(Entry.__doc__)}\n", _table(Entry, list(Entry.model_fields), None)]
    for name, block in known.items():
        parts.append(f"## {name}\n\n{_one_line(block.__doc__)}\n")
        if block.model_fields:
            parts.append(_table(block, list(block.model_fields), (name,)))
        if issubclass(block, FreeBlock):
            parts.append(f"Any other key is taken too; its environment variable is `{name.upper()}_<KEY>`.\n")
    return "\n".join(parts)


_INTRODUCTION = """# The manifest

Generated from the models in `reward_profiling/manifest/`; change the docstrings there.

A manifest is one YAML file that defines a sweep. Every block is named for the command that consumes it. Unknown keys
are refused, with the key that was probably meant. A value is taken from the manifest, then from the environment
variable, then from the command line; an empty variable counts as unset. Secrets are written as `${oc.env:NAME}`, never
as values.
"""


def _table(model: type[BaseModel], names: list[str], block: tuple[str, ...] | None) -> str:
    """The rows of one block; `block` is None for entries, which no environment variable changes."""
    environment = block is not None
    head = ["key", "type", "default", *(["environment"] if environment else []), "meaning"]
    rows = [head, ["---"] * len(head)]
    for name in names:
        field = model.model_fields[name]
        row = [f"`{name}`", _type(field.annotation), _default(field)]
        if block is not None:
            row.append(", ".join(f"`{each}`" for each in variables((*block, name))))
        rows.append([*row, _one_line(field.description)])
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"


def _type(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        return "list of " + {"text": "texts"}.get(_type(arguments[0]), _type(arguments[0]))
    if origin is dict:
        return "mapping"
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(dict.fromkeys(filter(None, map(_type, arguments))))
    return _PLAIN[annotation]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
