"""Whether agents, models and judges that are referred to are declared, and declared once.

Promise: judges names by the configs that were read; says nothing about names when some config could not be.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from reward_profiling.manifest import gym_configs
from reward_profiling.manifest.gym_configs import Configs
from reward_profiling.manifest.validation.findings import Finding, Subject

AGENTS = "responses_api_agents"
UNBOUND = "???"


def check(subject: Subject, configs: Configs) -> Iterator[Finding]:
    """All findings about names; `configs` are all configs of the sweep in merge order."""
    yield from _agents(subject)
    yield from _collisions(subject, configs)
    if configs.complete:
        yield from _references(subject, configs)
    elif subject.roots.has_gym:
        problem = "which servers are referred to is not checked, because some config could not be read"
        yield subject.warning(("gym_env_start",), problem, "mend that first")


def _agents(subject: Subject) -> Iterator[Finding]:
    overlay = gym_configs.declared(subject.manifest.gym_env_start.free, AGENTS)
    for number, entry in enumerate(subject.manifest.entries):
        configs = gym_configs.read(entry.configs, subject.roots)
        declared = gym_configs.declared(configs.merged(), AGENTS)
        agent = entry.effective_agent
        if agent in declared or agent in overlay or not configs.complete:
            continue
        key = "agent" if entry.agent_ref_override is None else "agent_ref_override"
        close = difflib.get_close_matches(agent, declared, n=1, cutoff=0.8)
        cure = f"did you mean `{close[0]}`?" if close else f"they declare {', '.join(declared) or 'no agent'}"
        problem = f"the agent `{agent}` of `{entry.label}` is declared by none of its configs"
        yield subject.error(("entries", number, key), problem, cure)


def _references(subject: Subject, configs: Configs) -> Iterator[Finding]:
    overlay = subject.manifest.gym_env_start.free
    merged = gym_configs.merge(configs.merged(), overlay)
    inherited = {value.get("_inherit_from") for value in merged.values() if isinstance(value, Mapping)}
    for reference in gym_configs.references(merged):
        instance, name = reference.path[0], reference.name
        if "${" in name or (name == UNBOUND and instance in inherited):
            continue
        known = gym_configs.declared(merged, reference.server_type)
        if name in known:
            continue
        wanted = f"`{'.'.join(reference.path)}`"
        if name == UNBOUND:
            yield subject.error(("gym_env_start",), f"{wanted} is left open", "bind it under `gym_env_start`")
            continue
        path = ("gym_env_start", *reference.path) if instance in overlay else ("gym_env_start",)
        problem = f"{wanted} asks for the {reference.server_type} `{name}`, which nothing defines"
        yield subject.error(path, problem, _how_to_define(name, known))


def _how_to_define(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    if close:
        return f"did you mean `{close[0]}`?"
    if name == "policy_model":
        return "add responses_api_models/vllm_model/configs/vllm_model.yaml to `gym_env_start.config_paths`"
    return f"define `{name}` under `gym_env_start`, or refer to one of {', '.join(sorted(known)) or 'none so far'}"


def _collisions(subject: Subject, configs: Configs) -> Iterator[Finding]:
    """One instance that two files set differently: the later file wins, for every entry of the sweep."""
    overlay, own = subject.manifest.gym_env_start.free, subject.manifest.gym_env_start.config_paths
    owners: dict[tuple[str, ...], tuple[str, Any]] = {}
    included = {file.path: _included(file.values) for file in configs.files}
    for file in configs.files:
        for path, value in _leaves(file.values):
            if path[0] == "config_paths":
                continue
            before = owners.get(path)
            owners[path] = (file.written, value)
            if before is None or before[1] == value or before[0] in included[file.path]:
                continue
            if file.written in own or _covers(overlay, path) or _describes(path):
                continue
            problem = (
                f"{before[0]} and {file.written} set `{'.'.join(path)}` differently, and the latter wins everywhere"
            )
            cure = "say which one you mean under `gym_env_start`, or profile their entries in sweeps of their own"
            yield subject.warning(("gym_env_start",), problem, cure)


def _included(values: Mapping[str, Any]) -> list[str]:
    paths = values.get("config_paths")
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


def _leaves(value: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield from _leaves(item, (*path, str(key)))
        else:
            yield (*path, str(key)), item


def _describes(path: tuple[str, ...]) -> bool:
    """Whether `instance.type.name.key` only tells people (or NeMo Gym's own datasets, which a sweep does not use)."""
    return len(path) == 4 and path[3] in {"datasets", "description", "domain", "value", "verified"}


def _covers(overlay: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    value: Any = overlay
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return True
