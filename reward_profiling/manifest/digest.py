"""The identity of what a manifest stands for: equal digests mean the same sweep.

Promise: the digest covers the resolved manifest (secrets by name), the content of every config file found, included
ones too, the model, the container, and each dataset's size and modification time. `parts` says what went in, so that
two can be compared.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reward_profiling.manifest import gym_configs
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.schema import Manifest

MISSING = "missing"


def parts(manifest: Manifest, roots: SearchRoots) -> dict[str, str]:
    """What the digest covers, by name.

    The names are `manifest.<block>`, `manifest.order`, `entry.<label>`, `data.<label>`, `config.<path as written>`,
    `endpoint`, `model` and `container`. Values are digests, or texts that say more (a size, a name).
    """
    values = manifest.model_dump(mode="json")
    # Where an endpoint is served says nothing about what is served; it stands apart so that a comparison can tell.
    endpoint = values["gym_env_start"].pop("policy_base_url")
    covered = {f"manifest.{name}": _hash(value) for name, value in values.items() if name != "entries"}
    covered["manifest.order"] = _hash([entry.label for entry in manifest.entries])
    for entry, value in zip(manifest.entries, values["entries"], strict=True):
        covered[f"entry.{entry.label}"] = _hash(value)
        covered[f"data.{entry.label}"] = _data(entry.data, roots)
    covered |= _configs(manifest, roots)
    covered |= {"endpoint": endpoint or "", "model": manifest.model or "", "container": manifest.srun.container or ""}
    return covered


def of(covered: Mapping[str, str]) -> str:
    """`sha256:<hex>` over the parts."""
    return _hash(dict(covered))


def _configs(manifest: Manifest, roots: SearchRoots) -> dict[str, str]:
    """A content digest for every config file that the manifest names or that one of those includes."""
    read = gym_configs.read(manifest.config_paths, roots)
    covered = {f"config.{file.written}": _content(file.path) for file in read.files}
    for path in (*manifest.config_paths, *([manifest.vllm.config] if manifest.vllm.config else [])):
        found = roots.find(path)
        covered[f"config.{path}"] = _content(found.path) if found else MISSING
    return covered


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _content(path: Path) -> str:
    try:
        return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return MISSING


def _data(path: str, roots: SearchRoots) -> str:
    found = roots.find(path)
    if found is None:
        return MISSING
    try:
        status = found.path.stat()
    except OSError:
        return MISSING
    return f"{status.st_size} bytes, modified {status.st_mtime_ns}"
