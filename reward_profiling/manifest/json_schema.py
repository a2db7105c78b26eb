"""The manifest's JSON Schema, for editors that complete and check YAML while it is written.

Promise: generated from the models, so it names the same keys, types, bounds and descriptions.
"""

from typing import Any

from reward_profiling.manifest.schema import Manifest


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a manifest."""
    schema = Manifest.model_json_schema()
    _tidy(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "reward-profiling manifest"}


def _tidy(node: Any) -> None:
    """Descriptions in one line, and no titles, which only repeat the keys."""
    if isinstance(node, list):
        for item in node:
            _tidy(item)
        return
    if not isinstance(node, dict):
        return
    if isinstance(node.get("title"), str):
        del node["title"]
    if isinstance(node.get("description"), str):
        node["description"] = " ".join(node["description"].split())
    for value in node.values():
        _tidy(value)
