"""What several keys of a manifest must agree on, as far as the manifest alone tells.

Promise: problems of a well-typed `Manifest`, without looking at files, the environment or the cluster.
"""

from collections.abc import Iterator

from reward_profiling.manifest.explain import Place
from reward_profiling.manifest.problems import Path, Problem
from reward_profiling.manifest.schema import Manifest


def check(manifest: Manifest, place: Place) -> Iterator[Problem]:
    """All problems of `manifest` on its own."""
    for path, problem, cure in (*_labels(manifest), *_sample(manifest), *_serving(manifest), *_endpoint(manifest)):
        yield Problem(place(path), path, problem, cure)


RESERVED_LABELS = frozenset({"summary", "agents", "repeats", "failures"})
"""Tables of a profile that speak of all environments, beside the table of each."""

Found = Iterator[tuple[Path, str, str]]


def _labels(manifest: Manifest) -> Found:
    first: dict[str, int] = {}
    for index, entry in enumerate(manifest.entries):
        if entry.label.lower() in RESERVED_LABELS:
            problem = f"`{entry.label}` is the name of a table of the profile"
            yield ("entries", index, "label"), problem, "choose another label"
        # Two names that differ in case only would be one directory on some file systems.
        other = first.setdefault(entry.label.lower(), index)
        if other != index:
            problem = f"the label `{entry.label}` is taken by entries[{other}]"
            yield ("entries", index, "label"), problem, "give each entry a label of its own"


def _sample(manifest: Manifest) -> Found:
    if manifest.materialize.sample == "random" and all(manifest.limit(entry) is None for entry in manifest.entries):
        cure = "set `materialize.limit_per_entry` or an entry's `limit`"
        yield ("materialize", "sample"), "`sample: random` has no limit to sample down to", cure


def _serving(manifest: Manifest) -> Found:
    vllm = manifest.vllm
    if vllm.effective_topology == "pd" and vllm.nodes is not None:
        yield (
            ("vllm", "nodes"),
            "`vllm.nodes` has no meaning in topology `pd`",
            "set `prefill_nodes` and `decode_nodes`",
        )
    for key in ("prefill_nodes", "decode_nodes"):
        if vllm.effective_topology == "aggregated" and getattr(vllm, key) is not None:
            yield ("vllm", key), f"`vllm.{key}` has no meaning in topology `aggregated`", "set `nodes`"
    for key in ("common_args", "prefill_args", "decode_args", "gym_model_params"):
        if vllm.config is not None and getattr(vllm, key):
            yield (
                ("vllm", key),
                f"`vllm.{key}` and `vllm.config` both say what the engines are given",
                "keep one of them",
            )
    for index, parameter in enumerate(vllm.gym_model_params):
        if not parameter.startswith("++") or "=" not in parameter:
            yield ("vllm", "gym_model_params", index), f"`{parameter}` is no override", "write ++key=value"
    sandboxes, nodes = manifest.srun.sandbox_nodes, manifest.nodes_per_job
    if sandboxes is not None and sandboxes > nodes:
        problem = f"{sandboxes} nodes are to run a sandbox, and a job has {nodes}"
        yield ("srun", "sandbox_nodes"), problem, f"set at most {nodes}"
    asked = manifest.sbatch.free.get("nodes")
    if asked is not None and str(asked) != str(nodes):
        cure = "remove it; nodes follow from the `vllm` block"
        yield ("sbatch", "nodes"), f"`sbatch.nodes` asks for {asked} nodes, and a job has {nodes}", cure


def _endpoint(manifest: Manifest) -> Found:
    start = manifest.gym_env_start
    if start.policy_base_url is None:
        return
    if not start.policy_base_url.startswith(("http://", "https://", "${")):
        yield (
            ("gym_env_start", "policy_base_url"),
            f"`{start.policy_base_url}` is no URL",
            "begin it with http:// or https://",
        )
    if start.policy_model_name is None:
        yield (
            ("gym_env_start",),
            "`policy_base_url` is given without `policy_model_name`",
            "name the model that is served there",
        )
