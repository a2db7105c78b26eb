"""Names that must be set before a job starts: environment variables and the entries of `env.yaml`.

Promise: names only. No value of a variable, and no value of `env.yaml`, is read into a finding.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reward_profiling.errors import ManifestError
from reward_profiling.manifest import gym_configs
from reward_profiling.manifest.gym_configs import Configs
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.schema import Manifest
from reward_profiling.manifest.validation.findings import Finding, Subject
from reward_profiling.manifest.yaml_tree import parse_lenient

_ENVIRONMENT = re.compile(r"oc\.env:\s*([A-Za-z_][A-Za-z0-9_]*)\s*(,.*)?\Z", re.DOTALL)
_NODE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:[.\[][^:]*)?\Z")
_GIVEN_BY_JOB = {"policy_base_url", "policy_api_key", "policy_model_name"}


@dataclass(frozen=True)
class Unmet:
    """What a job would miss, by name."""

    variables: tuple[str, ...] = ()
    """Environment variables that `${oc.env:NAME}` asks for, without a default, and that are not set."""
    names: tuple[str, ...] = ()
    """Names that `${name}` asks for and that neither a config, nor the overlay, nor `env.yaml` defines."""


def unmet(manifest: Manifest, roots: SearchRoots, configs: Configs, environ: Mapping[str, str]) -> Unmet:
    """The names that are missing for `manifest` under `environ`; `configs` are all its configs."""
    overlay = manifest.gym_env_start.free
    given, _ = env_file(roots)
    start = manifest.gym_env_start.model_dump(include={"policy_base_url", "policy_model_name", "policy_api_key"})
    merged = {**gym_configs.merge(configs.merged(), overlay), **given}
    asked = [merged, start, manifest.vllm.env, manifest.gym_eval_run.free]
    variables = {name for name in _variables(asked) if name not in environ}
    names = _names(asked) - merged.keys() if configs.complete else set()
    return Unmet(tuple(sorted(variables)), tuple(sorted(names)))


def needs_variable(value: Any) -> bool:
    """Whether anything in `value` asks for an environment variable without offering a default."""
    return bool(_variables(value))


def undefined(merged: Mapping[str, Any]) -> list[str]:
    """Names that a whole configuration refers to and does not define, sorted, without those that every job gives."""
    return sorted(_names(merged) - merged.keys())


def _variables(value: Any) -> set[str]:
    found = (_ENVIRONMENT.match(each) for each in gym_configs.interpolations(value))
    return {match[1] for match in found if match and match[2] is None}


def _names(value: Any) -> set[str]:
    found = (_NODE.match(each) for each in gym_configs.interpolations(value))
    return {match[1] for match in found if match} - _GIVEN_BY_JOB


def env_file(roots: SearchRoots) -> tuple[dict[str, Any], Path | None]:
    """The values of the `env.yaml` that NeMo Gym would merge into every command (Gym contract 1), and where it is."""
    found = roots.find("env.yaml")
    return (parse_lenient(found.path), found.path) if found is not None else ({}, None)


def check(subject: Subject, configs: Configs) -> Iterator[Finding]:
    """Findings about names that are not set, and about `env.yaml` itself."""
    try:
        given, where = env_file(subject.roots)
        missing = unmet(subject.manifest, subject.roots, configs, subject.environ)
    except ManifestError as error:
        yield subject.error((), str(error))
        return
    for name in missing.variables:
        yield subject.warning(("gym_env_start",), f"the environment variable {name} is not exported", f"export {name}")
    for name in missing.names:
        cure = f"define `{name}` in {where or 'env.yaml'}"
        yield subject.warning(("gym_env_start",), f"nothing defines `{name}`, which a config refers to", cure)
    declared = {
        name for name in given if name in gym_configs.merge(configs.merged(), subject.manifest.gym_env_start.free)
    }
    for name in sorted(declared):
        yield subject.warning(
            (), f"{where} replaces `{name}` of the sweep's configs", f"remove `{name}` from that file"
        )
