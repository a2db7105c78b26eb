"""Precedence, for every setting and in this one place: manifest, then environment variable, then command line.

Promise: `resolve` gives the values of a manifest with every override applied and says where each came from. A secret
that an environment variable holds is recorded by that variable's name. A limit from outside lowers the manifest's
limits and raises none. Two variables that set the same thing differently are refused.
"""

import copy
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reward_profiling.manifest.known import SBATCH_FLAGS
from reward_profiling.manifest.names import Key, blocks, sbatch_key, settable, variables
from reward_profiling.manifest.problems import Path, Problem
from reward_profiling.manifest.schema import Manifest
from reward_profiling.manifest.secrets import by_name, is_secret_key
from reward_profiling.manifest.yaml_tree import is_plain, scalar

COMMAND_LINE = "command line"
_LIMIT: Key = ("materialize", "limit_per_entry")


@dataclass(frozen=True)
class Setting:
    """One resolved setting: dotted name, value, and `default`, `manifest`, `env NAME` or `command line`."""

    name: str
    value: Any
    origin: str


@dataclass
class Resolved:
    """Values with overrides applied; `origins` holds the paths that did not come from the manifest."""

    values: dict[str, Any]
    origins: dict[Path, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def put(self, key: Path, value: Any, origin: str) -> None:
        """Set the value at `key`, a block's key or an entry's, and where it came from."""
        if not is_plain(value):
            said = f"`{'.'.join(map(str, key))}` is given a value that a manifest cannot hold"
            self.problems.append(
                Problem(origin, key, said, "give text, a finite number, or a list or mapping of these")
            )
            return
        target: Any = self.values
        for part in key[:-1]:
            target = target.setdefault(part, {}) if isinstance(target, dict) else target[part]
        target[key[-1]] = value
        self.origins[key] = origin


def resolve(written: Mapping[str, Any], environ: Mapping[str, str], overrides: Mapping[str, object]) -> Resolved:
    """Apply `environ` and then `overrides` (dotted name to value; None is not given) to the values of a manifest."""
    result = Resolved(copy.deepcopy(dict(written)))
    wanted = _overrides(overrides, result)
    keys = dict.fromkeys([*settable(written, environ), *wanted])
    for key in keys:
        given = _from_environment(key, environ, result)
        if key in wanted:
            given = (_typed(key, wanted[key]), COMMAND_LINE)
        if given is None:
            continue
        if key == _LIMIT:
            _cap(result, *given)
        else:
            result.put(key, *given)
    return result


def table(manifest: Manifest, resolved: Resolved, written: Mapping[str, Any]) -> tuple[Setting, ...]:
    """Every setting of a loaded manifest, in its order, then the limits of entries that were lowered from outside."""
    settings = []
    for key in settable(resolved.values, {}):
        holder: Any = manifest if len(key) == 1 else getattr(manifest, key[0])
        value = holder.free[key[-1]] if key[-1] not in type(holder).model_fields else getattr(holder, key[-1])
        settings.append(Setting(".".join(key), value, _origin(key, resolved, written)))
    for path, origin in resolved.origins.items():
        if path[0] == "entries" and isinstance(path[1], int):
            entry = manifest.entries[path[1]]
            settings.append(Setting(f"entries.{entry.label}.limit", entry.limit, origin))
    return tuple(settings)


def _origin(key: Key, resolved: Resolved, written: Mapping[str, Any]) -> str:
    if key in resolved.origins:
        return resolved.origins[key]
    holder = written if len(key) == 1 else written.get(key[0], {})
    return "manifest" if key[-1] in holder else "default"


def _overrides(overrides: Mapping[str, object], result: Resolved) -> dict[Key, object]:
    """Overrides by key; names that cannot be a setting become problems."""
    known, wanted = blocks(), {}
    for name, value in overrides.items():
        key = tuple(name.split(".", 1))
        single = len(key) == 1 and name in Manifest.model_fields and name not in known and name != "entries"
        if not single and not (len(key) == 2 and key[0] in known and key[1]):
            cure = "name a setting as block.key, such as vllm.model"
            result.problems.append(Problem(COMMAND_LINE, key, f"`{name}` is not a setting", cure))
        elif value is not None:
            wanted[(key[0], sbatch_key(key[1])) if key[0] == "sbatch" else key] = value
    return wanted


def _from_environment(key: Key, environ: Mapping[str, str], result: Resolved) -> tuple[Any, str] | None:
    """Value and origin that the environment gives `key`; an empty variable counts as unset."""
    given = [name for name in variables(key) if environ.get(name)]
    if not given:
        return None
    name = given[0]
    if is_secret_key(key[-1]):
        return by_name(name), f"env {name}"
    if len({environ[each] for each in given}) > 1:
        cure = f"unset one of {' and '.join(given)}"
        result.problems.append(
            Problem(f"env {name}", key, f"{' and '.join(given)} set `{'.'.join(key)}` differently", cure)
        )
    return _typed(key, environ[name]), f"env {name}"


def _typed(key: Key, value: Any) -> Any:
    """Text from outside as the type that the setting takes; anything else as it is."""
    if not isinstance(value, str):
        return value
    if key[0] == "sbatch" and key[-1] in SBATCH_FLAGS and value.lower() in {"1", "true", "yes", "0", "false", "no"}:
        return value.lower() in {"1", "true", "yes"}
    model = Manifest if len(key) == 1 else blocks()[key[0]]
    known = model.model_fields.get(key[-1])
    if key[0] == "sbatch" or (known is not None and _takes_text(known.annotation)):
        return value
    try:
        return scalar(value)
    except ValueError:
        return value


def _takes_text(annotation: Any) -> bool:
    """True when a value of this type may be plain text."""
    if annotation is str:
        return True
    if typing.get_origin(annotation) is typing.Literal:
        return all(isinstance(value, str) for value in typing.get_args(annotation))
    if typing.get_origin(annotation) in {tuple, list, dict}:
        return False
    return any(_takes_text(part) for part in typing.get_args(annotation))


def _cap(result: Resolved, cap: Any, origin: str) -> None:
    """Lower the default limit and the entries' own limits to `cap`."""
    if not isinstance(cap, int) or isinstance(cap, bool):
        result.put(_LIMIT, cap, origin)
        return
    block = result.values.get("materialize") or {}
    default = block.get("limit_per_entry")
    if default is None or default > cap:
        result.put(_LIMIT, cap, origin)
    for index, entry in enumerate(result.values.get("entries", [])):
        if isinstance(entry.get("limit"), int) and entry["limit"] > cap:
            result.put(("entries", index, "limit"), cap, origin)
