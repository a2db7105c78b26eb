"""What gives a rollout its meaning: the model, how it is sampled, and the servers that ask and judge it.

Promise: two manifests whose meanings agree make rollouts that may stand side by side in one profile. Where a job runs,
how many at a time and for how long is no part of it; nor is the address of an endpoint, nor a comment in a config.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from reward_profiling.manifest import gym_configs
from reward_profiling.manifest.known import GYM_SERVER_TYPES
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.schema import Manifest

UNKNOWN = ""
"""The value of a part that this machine cannot see; it agrees with everything."""


def meaning(manifest: Manifest, roots: SearchRoots) -> dict[str, str]:
    """Parts by name: `model`, `sampling`, `vllm.config`, `agent.<label>`, and `server.<instance>` for every server of
    the merged configs, overlay included. Servers of configs that are not found here are left out."""
    merged = gym_configs.merge(
        gym_configs.read(manifest.config_paths, roots).merged(), dict(manifest.gym_env_start.free)
    )
    parts = {"model": manifest.model or UNKNOWN, "sampling": _digest(_sampling(manifest))}
    parts["vllm.config"] = _engine_config(manifest, roots)
    parts |= {f"agent.{entry.label}": entry.effective_agent for entry in manifest.entries}
    for name, values in merged.items():
        if isinstance(values, Mapping) and any(kind in values for kind in GYM_SERVER_TYPES):
            parts[f"server.{name}"] = _digest(values)
    return parts


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The parts that both know and that differ, sorted."""
    return sorted(name for name, value in old.items() if value and new.get(name, UNKNOWN) and new[name] != value)


def _sampling(manifest: Manifest) -> dict[str, Any]:
    vllm = manifest.vllm
    arguments = {} if manifest.mode == "endpoint" else {"common": vllm.common_args, "decode": vllm.decode_args}
    return {"gym_model_params": vllm.gym_model_params, **arguments}


def _engine_config(manifest: Manifest, roots: SearchRoots) -> str:
    if manifest.vllm.config is None:
        return "none"
    found = roots.find(manifest.vllm.config)
    return UNKNOWN if found is None else hashlib.sha256(found.path.read_bytes()).hexdigest()


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
