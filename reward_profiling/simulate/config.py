"""The Gym configs that `env start` is given, merged as Gym merges them (Gym contract 1 and 2).

Promise: an included config gives way to the including one, an earlier `--config` to a later one, all to the overrides.
What would keep real servers from starting is refused: a missing file, no server at all, an agent that points at no
server, an unset `${oc.env:NAME}`, a `${key}` that nothing defines. Values of secrets are never shown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reward_profiling.errors import RewardProfilingError

Config = dict[str, Any]

_AGENT = "responses_api_agents"
_ENVIRONMENT = "environment_servers"
_SERVER_TYPES = ("resources_servers", _AGENT, "responses_api_models", _ENVIRONMENT)
_REFERENCE = re.compile(r"\$\{([^${}]*)\}")


@dataclass(frozen=True)
class Server:
    """One instance: its name in the config, its type, and the name of the program that would serve it."""

    instance: str
    type: str
    program: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Surroundings:
    """Where configs are looked for before the working directory, and the environment that they refer to."""

    roots: tuple[str, ...]
    environ: Mapping[str, str]


def load(paths: Iterable[str], overrides: Mapping[str, Any], surroundings: Surroundings) -> Config:
    """The merged and checked configuration. Raises `RewardProfilingError`."""
    merged: Config = {}
    for path in paths:
        _merge(merged, _load_file(path, surroundings.roots, ()))
    for key, content in overrides.items():
        _merge(merged, _nested(key.split("."), content))
    _check(merged, surroundings.environ)
    return merged


def servers(config: Config) -> list[Server]:
    """The instances that would run: those declared, and an environment server for each agent that has none."""
    declared = _declared(config)
    fronted = set(environment_servers(declared))
    bare = [server for server in declared if server.type == _AGENT and server.instance not in fronted]
    return declared + [_generated(agent) for agent in bare]


def environment_servers(running: Iterable[Server]) -> dict[str, str]:
    """Agent -> the environment server that fronts it, which is whom a collector asks (contract 5)."""
    fronts = [server for server in running if server.type == _ENVIRONMENT]
    return {str((front.settings.get("agent_server") or {}).get("name")): front.instance for front in fronts}


def _declared(config: Config) -> list[Server]:
    found = []
    for instance, content in config.items():
        for kind in _SERVER_TYPES:
            programs = content.get(kind) if isinstance(content, dict) else None
            for program, settings in (programs or {}).items():
                found.append(Server(instance, kind, program, settings or {}))
    return found


def _generated(agent: Server) -> Server:
    """What Gym makes for an agent: seen to be named for it, without `_simple_agent` or `_agent` at the end."""
    stem = agent.instance
    if stem != agent.program:
        stem = re.sub(r"(?<=.)(_simple)?_agent\Z", "", stem)
    settings = {"entrypoint": "app.py", "agent_server": {"type": _AGENT, "name": agent.instance}}
    return Server(f"{stem}_environment_server", _ENVIRONMENT, "legacy_agent", settings)


def _load_file(path: str, roots: tuple[str, ...], including: tuple[str, ...]) -> Config:
    if path in including:
        raise RewardProfilingError(f"includes itself: {' -> '.join((*including, path))}", place=path)
    found = _find(path, roots)
    try:
        content = yaml.load(found.read_text(encoding="utf-8"), yaml.CSafeLoader) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RewardProfilingError(f"no YAML: {error}", place=str(found)) from error
    if not isinstance(content, dict):
        raise RewardProfilingError("not a mapping", place=str(found))
    merged: Config = {}
    for nested in content.pop("config_paths", None) or []:
        _merge(merged, _load_file(nested, roots, (*including, path)))
    _merge(merged, content)
    return merged


def _find(path: str, roots: tuple[str, ...]) -> Path:
    places = [Path(root, path) for root in (*roots, str(Path.cwd()))]
    for place in places:
        if place.is_file():
            return place
    raise RewardProfilingError("no such config", place=path, cure=f"looked in {', '.join(map(str, places))}")


def _merge(into: Config, other: Mapping[str, Any]) -> None:
    for key, content in other.items():
        present = into.get(key)
        if isinstance(present, dict) and isinstance(content, dict):
            _merge(present, content)
        else:
            into[key] = content


def _nested(keys: list[str], content: Any) -> Config:
    for key in reversed(keys):
        content = {key: content}
    return dict(content)


def _check(config: Config, environ: Mapping[str, str]) -> None:
    declared = _declared(config)
    if not declared:
        raise RewardProfilingError("the configs declare no server", cure="pass --config with the servers to start")
    names = {server.instance for server in declared}
    for server in declared:
        for key, content in server.settings.items():
            if isinstance(content, dict) and content.get("type") in _SERVER_TYPES and content.get("name") not in names:
                raise RewardProfilingError(
                    f"no server is named {content.get('name')!r}", place=f"{server.instance}.{key}"
                )
    for place, text in _texts(config, ""):
        for reference in _REFERENCE.findall(text):
            if not _resolves(reference, config, environ):
                raise RewardProfilingError(f"nothing defines ${{{reference}}}", place=place, cure="set it")


def _texts(content: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(content, str):
        yield place, content
    elif isinstance(content, dict):
        for key, part in content.items():
            yield from _texts(part, f"{place}.{key}" if place else str(key))
    elif isinstance(content, list):
        for number, part in enumerate(content):
            yield from _texts(part, f"{place}[{number}]")


def _resolves(reference: str, config: Config, environ: Mapping[str, str]) -> bool:
    if reference.startswith("oc.env:"):
        name, comma, _ = reference.removeprefix("oc.env:").partition(",")
        return bool(comma) or name in environ
    if ":" in reference or reference.startswith("."):
        return True  # another resolver, or a relative reference: Gym's to judge
    content: Any = config
    for key in reference.split("."):
        if not isinstance(content, dict) or key not in content:
            return False
        content = content[key]
    return True
