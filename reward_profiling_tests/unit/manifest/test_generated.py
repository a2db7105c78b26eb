"""What is generated from the models agrees with them: JSON Schema, documentation of keys."""

import types
import typing
from typing import Any

import pytest
from pydantic import BaseModel

from reward_profiling.manifest.block import FreeBlock
from reward_profiling.manifest.document import document
from reward_profiling.manifest.entry import Entry
from reward_profiling.manifest.json_schema import json_schema
from reward_profiling.manifest.names import blocks, variables
from reward_profiling.manifest.schema import Manifest
from reward_profiling_tests.parts import REPOSITORY

MODELS: dict[str, type[BaseModel]] = {"": Manifest, "entries": Entry, **blocks()}
FIELDS = [(block, name) for block, model in MODELS.items() for name in model.model_fields]


SCHEMA = json_schema()


def schema_of(block: str) -> dict[str, Any]:
    return SCHEMA if not block else SCHEMA["$defs"][MODELS[block].__name__]


@pytest.mark.parametrize("block", MODELS, ids=lambda block: block or "manifest")
def test_schema_has_the_models_keys(block: str) -> None:
    schema, model = schema_of(block), MODELS[block]
    assert set(schema.get("properties", {})) == set(model.model_fields)
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    assert set(schema.get("required", ())) == required
    if issubclass(model, FreeBlock):
        assert schema["additionalProperties"] is not False
    else:
        assert schema["additionalProperties"] is False


def kinds(schema: dict[str, Any], definitions: dict[str, Any]) -> set[str]:
    """The JSON types that a schema accepts."""
    if "$ref" in schema:
        return kinds(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return set().union(*(kinds(each, definitions) for each in schema["anyOf"]))
    if "enum" in schema:
        return {"string"}
    return {schema["type"]} if "type" in schema else {"any"}


def expected(annotation: Any) -> set[str]:
    """The JSON types of a Python annotation."""
    plain = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", Any: "any"}
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in plain:
        return {plain[annotation]}
    if origin is typing.Annotated:
        return expected(arguments[0])
    if origin is typing.Literal:
        return {"string"}
    if origin is tuple:
        return {"array"}
    if origin in {typing.Union, types.UnionType}:
        return set().union(*(expected(each) for each in arguments))
    return {"object"}


@pytest.mark.parametrize(("block", "name"), FIELDS, ids=lambda part: part or "manifest")
def test_schema_of_each_key(block: str, name: str) -> None:
    schema = schema_of(block)["properties"][name]
    field = MODELS[block].model_fields[name]
    assert kinds(schema, SCHEMA["$defs"]) == expected(field.annotation)
    if name not in blocks():
        assert schema["description"] == " ".join((field.description or "").split())


@pytest.mark.parametrize(("block", "name"), FIELDS, ids=lambda part: part or "manifest")
def test_each_key_is_described(block: str, name: str) -> None:
    if name in blocks():
        assert (blocks()[name].__doc__ or "").strip().endswith(".")
    else:
        description = MODELS[block].model_fields[name].description or ""
        assert description.strip().endswith("."), f"{block}.{name} has no docstring"


def test_bounds_are_in_the_schema() -> None:
    properties = SCHEMA["$defs"]["Srun"]["properties"]
    assert (properties["sandbox_port"]["minimum"], properties["sandbox_port"]["maximum"]) == (1, 65535)
    assert SCHEMA["properties"]["entries"]["minItems"] == 1
    assert SCHEMA["$defs"]["Materialize"]["properties"]["sample"]["enum"] == ["head", "random"]


def test_documentation_is_current() -> None:
    path = REPOSITORY / "docs/manifest.md"
    assert path.read_text() == document(), "write it again: reward_profiling.manifest.document.document()"


def test_documentation_names_every_key_and_variable() -> None:
    text = document()
    for block, name in FIELDS:
        if name in blocks() or name == "entries":
            assert f"## {name}\n" in text
            continue
        assert f"| `{name}` |" in text
        if block not in ("", "entries"):
            assert all(f"`{variable}`" in text for variable in variables((block, name)))
