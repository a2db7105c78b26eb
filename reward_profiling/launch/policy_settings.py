"""Who answers the rollouts' questions: an endpoint that is served already, or an engine that the job starts.

Promise: what this version cannot serve as the manifest asks is refused, never served in another way: rollouts of
another engine, or without their sandbox, would give plausible numbers that are wrong.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reward_profiling.errors import LaunchError
from reward_profiling.manifest.load import LoadedManifest
from reward_profiling.manifest.serving import EnvironmentValue

_REFERENCE = re.compile(r"\$\{oc\.env:\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:,([^${}]*))?\}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible URL, up to and including `/v1`."""

    url: str


@dataclass(frozen=True)
class Engine:
    """`vllm serve` on the job's own node.

    `environment` holds the engine's variables by value, `inherited` those that take another variable's value in the
    job: name to that variable's name.
    """

    max_num_seqs: int
    args: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    inherited: Mapping[str, str] = field(default_factory=dict)


def policy_of(loaded: LoadedManifest, environ: Mapping[str, str]) -> Endpoint | Engine:
    """How the manifest has its policy served; `LaunchError` when it cannot be."""
    for keys, problem, cure in _unbuilt(loaded):
        raise LaunchError(problem, place=loaded.place(*keys), cure=cure)
    if loaded.manifest.mode == "endpoint":
        return _endpoint(loaded, environ)
    return _engine(loaded)


def variable_of(value: str | None) -> str | None:
    """NAME of `${oc.env:NAME}` or `${oc.env:NAME,default}`; None for anything else."""
    found = _REFERENCE.match(value or "")
    return found[1] if found else None


def _endpoint(loaded: LoadedManifest, environ: Mapping[str, str]) -> Endpoint:
    url = loaded.manifest.gym_env_start.policy_base_url or ""
    written = _REFERENCE.match(url)
    if written is not None:
        url = environ.get(written[1], (written[2] or "").strip())
    if not url.startswith(("http://", "https://")):
        problem = f"{written[1]} is not set to a URL" if written else f"{url} is no URL"
        raise LaunchError(problem, place=loaded.place("gym_env_start", "policy_base_url"), cure="give the policy's URL")
    return Endpoint(url.rstrip("/"))


def _engine(loaded: LoadedManifest) -> Engine:
    vllm = loaded.manifest.vllm
    if vllm.model is None:
        raise LaunchError(
            "the manifest names no policy",
            place=str(loaded.path),
            cure="set vllm.model, or pass --endpoint and --model",
        )
    for index, argument in enumerate(vllm.common_args):
        if "${" in argument:
            raise LaunchError(
                f"{argument} would show its value to everybody on the node",
                place=loaded.place("vllm", "common_args", index),
                cure="set a variable in vllm.env instead",
            )
    inherited = {name: variable for name, value in vllm.env.items() if (variable := _inherited(loaded, name, value))}
    literal = {name: _text(value) for name, value in vllm.env.items() if name not in inherited}
    return Engine(vllm.max_num_seqs, vllm.common_args, literal, inherited)


def _inherited(loaded: LoadedManifest, name: str, value: EnvironmentValue) -> str | None:
    place = loaded.place("vllm", "env", name)
    if not _VARIABLE.match(name):
        raise LaunchError(f"{name!r} cannot be a variable", place=place, cure="use letters, digits and `_`")
    if "${" not in str(value):
        return None
    written = _REFERENCE.match(str(value))
    if written is None or written[2] is not None:
        raise LaunchError(f"{value} cannot be resolved in a job", place=place, cure="write ${oc.env:NAME}, all of it")
    return written[1]


def _text(value: EnvironmentValue) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _unbuilt(loaded: LoadedManifest) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """What a manifest may say and this version cannot run yet: key, problem, cure."""
    manifest = loaded.manifest
    if manifest.srun.sandbox_container is not None:
        yield ("srun", "sandbox_container"), "code sandboxes are not supported yet", "leave out entries that need one"
    if manifest.srun.effective_runtime != "none":
        yield (
            ("srun", "container"),
            "containers are not supported yet",
            "set srun.container_runtime to none and have vllm and gym on the nodes' PATH",
        )
    if manifest.mode == "serve" and manifest.vllm.effective_topology == "pd":
        yield ("vllm",), "topology pd is not supported yet", "serve it elsewhere and pass --endpoint"
    if manifest.mode == "serve" and manifest.vllm.nodes_per_job > 1:
        yield ("vllm", "nodes"), "engines on several nodes are not supported yet", "set vllm.nodes to 1"
