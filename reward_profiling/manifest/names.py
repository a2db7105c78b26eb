"""The names of a setting: its place in the manifest and the environment variables that change it.

Promise: names follow from block and key (`vllm.model` is VLLM_MODEL), and the few names that people know from shell
launchers are aliases (`ALIASES`). Entries are no settings: they change in the manifest only.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from reward_profiling.manifest.block import FreeBlock
from reward_profiling.manifest.known import SBATCH_ENVIRONMENT, SBATCH_OPTIONS, SBATCH_OWNED
from reward_profiling.manifest.schema import Manifest

Key = tuple[str, ...]
"""("num_shards",) or ("vllm", "model")."""

ALIASES: dict[Key, str] = {
    ("vllm", "model"): "MODEL",
    ("srun", "container"): "CONTAINER",
    ("srun", "sandbox_container"): "SANDBOX_CONTAINER",
    ("materialize", "limit_per_entry"): "LIMIT_PER_ENTRY",
    ("vllm", "prefill_nodes"): "NUM_PREFILL_NODES",
    ("vllm", "decode_nodes"): "NUM_DECODE_NODES",
}


def blocks() -> dict[str, type[BaseModel]]:
    """The blocks of a manifest by name, in its order."""
    found = {}
    for name, field in Manifest.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found[name] = field.annotation
    return found


def variables(key: Key) -> tuple[str, ...]:
    """The environment variables that set `key`, the regular one first."""
    regular = "_".join(key).upper()
    alias = SBATCH_ENVIRONMENT.get(key[1]) if key[0] == "sbatch" else ALIASES.get(key)
    return (regular, alias) if alias else (regular,)


def sbatch_key(option: str) -> str:
    """The one spelling of an option of sbatch: underscores, and `timelimit` for `time`."""
    name = option.replace("-", "_")
    return "timelimit" if name == "time" else name


def settable(values: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[Key]:
    """Every setting of a manifest with `values`: known keys, its own free keys, and free keys that `environ` adds."""
    known = blocks()
    for name in Manifest.model_fields:
        block = known.get(name)
        if block is None:
            if name != "entries":
                yield (name,)
            continue
        keys = dict.fromkeys(block.model_fields)
        if issubclass(block, FreeBlock):
            written = values.get(name)
            keys |= dict.fromkeys(written if isinstance(written, dict) else ())
            keys |= dict.fromkeys(_from_environment(name, environ))
        for key in keys:
            yield (name, key)


def _from_environment(block: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Keys of a free-form block that only the environment names.

    Of SBATCH_* only the options of sbatch that a manifest may set; what else carries that prefix is not ours.
    """
    if block == "sbatch":
        for option in sorted(SBATCH_OPTIONS - SBATCH_OWNED):
            if any(environ.get(name) for name in variables((block, option))):
                yield option
        return
    prefix = f"{block.upper()}_"
    for name in sorted(environ):
        if name.startswith(prefix) and environ[name] and len(name) > len(prefix):
            yield name.removeprefix(prefix).lower()
