"""One NeMo Gym config over several manifests, for building an image that has every server they need.

Promise: the text resolves while the image is built, without policy and without secrets: what a job would supply is a
placeholder. Two manifests that set one overlay key differently are refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reward_profiling.errors import ManifestError
from reward_profiling.manifest import gym_configs
from reward_profiling.manifest.gym_configs import Configs
from reward_profiling.manifest.known import GYM_SERVER_TYPES
from reward_profiling.manifest.load import LoadedManifest
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.sweep_config import config_paths
from reward_profiling.manifest.validation.gym_resolve import PLACEHOLDER, POLICY
from reward_profiling.manifest.validation.variables import needs_variable, undefined
from reward_profiling.manifest.yaml_tree import dump

Server = tuple[str, str]
"""("resources_servers", "mcqa"): the folder of one server."""


def render(manifests: Sequence[LoadedManifest]) -> str:
    """The text of the config; raises `ManifestError` when two overlays disagree or a config cannot be read."""
    overlay = _union(manifests)
    paths = list(dict.fromkeys(path for each in manifests for path in config_paths(each.manifest, each.roots)))
    configs = _read(paths, manifests[0].roots)
    merged = gym_configs.merge(configs.merged(), overlay)
    filled = gym_configs.merge(overlay, _placeholders(merged))
    names = dict.fromkeys(undefined(merged), PLACEHOLDER)
    return dump({"config_paths": paths, **POLICY, **names, **filled})


def servers(values: Mapping[str, Any], roots: SearchRoots) -> set[Server]:
    """Every server of a config: that of its own instances and those of all that it includes."""
    paths = values.get("config_paths", ())
    merged = gym_configs.merge(_read(paths if isinstance(paths, list) else (), roots).merged(), values)
    return {
        (kind, name)
        for instance in merged.values()
        if isinstance(instance, Mapping)
        for kind in GYM_SERVER_TYPES & instance.keys()
        if isinstance(instance[kind], Mapping)
        for name in instance[kind]
    }


def missing(wanted: Mapping[str, Any], image: Mapping[str, Any], roots: SearchRoots) -> list[Server]:
    """The servers of config `wanted` that an image built from config `image` lacks, sorted."""
    return sorted(servers(wanted, roots) - servers(image, roots))


def _read(paths: Iterable[str], roots: SearchRoots) -> Configs:
    configs = gym_configs.read(paths, roots)
    for written, includer in configs.not_found:
        cure = "point REWARD_PROFILING_GYM at a gym command, or mend the path"
        raise ManifestError(f"{written} is not found", place=includer, cure=cure)
    for line in configs.unreadable:
        raise ManifestError(line)
    return configs


def _union(manifests: Sequence[LoadedManifest]) -> dict[str, Any]:
    union: dict[str, Any] = {}
    owner: dict[str, LoadedManifest] = {}
    for loaded in manifests:
        for key, value in loaded.manifest.gym_env_start.free.items():
            if key in union and union[key] != value:
                problem = f"`gym_env_start.{key}` differs from that of {owner[key].path}"
                place = loaded.place("gym_env_start", key)
                raise ManifestError(problem, place=place, cure="write both the same, or build two images")
            union[key] = value
            owner[key] = loaded
    return union


def _placeholders(merged: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `merged` that need an environment variable, replaced, in an overlay of their own."""
    overlay: dict[str, Any] = {}
    for key, value in merged.items():
        if isinstance(value, Mapping):
            inner = _placeholders(value)
            if inner:
                overlay[key] = inner
        elif needs_variable(value):
            overlay[key] = _replaced(value)
    return overlay


def _replaced(value: Any) -> Any:
    if isinstance(value, list):
        return [_replaced(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _replaced(item) for key, item in value.items()}
    return PLACEHOLDER if needs_variable(value) else value
