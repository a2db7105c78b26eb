"""The identity of what a manifest stands for: equal digests mean the same sweep.

Promise: the digest covers the resolved manifest (secrets by name), the content of every config file found, the model,
the container, and each dataset's size and modification time. `parts` says what went in, so that two can be compared.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.schema import Manifest

MISSING = "missing"


def parts(manifest: Manifest, roots: SearchRoots) -> dict[str, str]:
    """What the digest covers, by name.

    The names are `manifest.<block>`, `manifest.order`, `entry.<label>`, `data.<label>`, `config.<path as written>`,
    `model` and `container`.
    """
    values = manifest.model_dump(mode="json")
    covered = {f"manifest.{name}": _hash(value) for name, value in values.items() if name != "entries"}
    covered["manifest.order"] = _hash([entry.label for entry in manifest.entries])
    for entry, value in zip(manifest.entries, values["entries"], strict=True):
        covered[f"entry.{entry.label}"] = _hash(value)
        covered[f"data.{entry.label}"] = _data(entry.data, roots)
    covered["model"] = manifest.model or ""
    covered["container"] = manifest.srun.container or ""
    for path in config_files(manifest):
        covered[f"config.{path}"] = _config(path, roots)
    return covered


def of(covered: Mapping[str, str]) -> str:
    """`sha256:<hex>` over the parts."""
    return _hash(dict(covered))


def config_files(manifest: Manifest) -> tuple[str, ...]:
    """Every config file that a manifest names, as written, each once."""
    named = [path for entry in manifest.entries for path in entry.configs]
    named += manifest.gym_env_start.config_paths
    if manifest.vllm.config is not None:
        named.append(manifest.vllm.config)
    return tuple(dict.fromkeys(named))


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _config(path: str, roots: SearchRoots) -> str:
    found = roots.find(path)
    if found is None:
        return MISSING
    try:
        return "sha256:" + hashlib.sha256(found.path.read_bytes()).hexdigest()
    except OSError:
        return MISSING


def _data(path: str, roots: SearchRoots) -> str:
    found = roots.find(path)
    if found is None:
        return MISSING
    status = found.path.stat()
    return f"{status.st_size} bytes, modified {status.st_mtime_ns}"
