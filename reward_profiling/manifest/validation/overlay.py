"""Whether the overlay under `gym_env_start` changes what it means to change.

Promise: an override that would silently change nothing, because of a misspelt instance, server or key, is an error.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from reward_profiling.manifest.gym_configs import Configs
from reward_profiling.manifest.known import GYM_SERVER_TYPES
from reward_profiling.manifest.near import nearest
from reward_profiling.manifest.problems import Path, dotted
from reward_profiling.manifest.validation.findings import Finding, Subject

_COMPLETE = {"entrypoint", "_inherit_from"}
"""Keys that make an instance one of its own, rather than a change to one that a config declares."""


def check(subject: Subject, configs: Configs) -> Iterator[Finding]:
    """Findings about every instance in the overlay, held against all configs; none when some could not be read."""
    if not configs.complete:
        return
    base = configs.merged()
    for name, value in subject.manifest.gym_env_start.free.items():
        if not isinstance(value, Mapping) or not GYM_SERVER_TYPES & value.keys():
            continue
        path: Path = ("gym_env_start", name)
        if isinstance(base.get(name), Mapping):
            yield from _change(subject, path, value, base[name])
        elif not _stands_alone(value):
            close = difflib.get_close_matches(name, list(base), n=1, cutoff=0.8)
            cure = f"did you mean `{close[0]}`?" if close else "add the config that declares it, or an `entrypoint`"
            yield subject.error(path, f"`{name}` changes an instance that no config declares", cure)


def _stands_alone(instance: Mapping[str, Any]) -> bool:
    servers = [server for kind in GYM_SERVER_TYPES & instance.keys() for server in _values(instance[kind])]
    return "_inherit_from" in instance or any(isinstance(each, Mapping) and _COMPLETE & each.keys() for each in servers)


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else []


def _change(subject: Subject, path: Path, over: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[Finding]:
    """Servers that the instance does not have, then keys that are slips of those it has."""
    for kind in GYM_SERVER_TYPES & over.keys():
        servers, existing = over[kind], base.get(kind)
        if not isinstance(servers, Mapping):
            continue
        names = list(existing) if isinstance(existing, Mapping) else []
        for server, value in servers.items():
            if server not in names:
                has = ", ".join(f"{each}.{name}" for each in base if each in GYM_SERVER_TYPES for name in base[each])
                problem = f"`{path[-1]}` has no {kind} `{server}`"
                yield subject.error((*path, kind, server), problem, f"it is {has}")
            elif isinstance(value, Mapping) and isinstance(existing, Mapping):
                yield from _slips(subject, (*path, kind, server), value, existing[server])


def _slips(subject: Subject, path: Path, over: Mapping[str, Any], base: Any) -> Iterator[Finding]:
    if not isinstance(base, Mapping):
        return
    for key, value in over.items():
        near = nearest(key, base) if key not in base else None
        if near is not None:
            problem = f"`{dotted(path)}` knows no key `{key}`"
            yield subject.error((*path, key), problem, f"did you mean `{near}`?")
        elif isinstance(value, Mapping):
            yield from _slips(subject, (*path, key), value, base.get(key))
