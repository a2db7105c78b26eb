"""Does the cluster know what a manifest asks of it? Partition, account, quality of service.

Promise: only what the cluster states can be wrong; where it does not answer, nothing is said.
"""

from collections.abc import Iterator

from reward_profiling.manifest.load import LoadedManifest
from reward_profiling.manifest.problems import Problem
from reward_profiling.scheduler.cluster_facts import Associations, associations, partitions


def check_cluster(loaded: LoadedManifest) -> tuple[Problem, ...]:
    """Problems of the `sbatch` block with the cluster that this machine belongs to."""
    wanted = {key: str(loaded.manifest.sbatch.options.get(key, "")) for key in ("partition", "account", "qos")}
    if not any(wanted.values()):
        return ()
    return tuple(_problems(loaded, wanted, partitions(), associations()))


def _problems(
    loaded: LoadedManifest, wanted: dict[str, str], found: frozenset[str] | None, allowed: Associations | None
) -> Iterator[Problem]:
    offers = {
        "partition": found,
        "account": allowed.accounts if allowed else None,
        "qos": allowed.qos if allowed else None,
    }
    for key, value in wanted.items():
        known = offers[key]
        # Several partitions may be named; Slurm takes the first that is free.
        for name in filter(None, value.split(",")):
            if known is not None and name not in known:
                cure = f"it knows: {', '.join(sorted(known)) or 'none'}"
                path = ("sbatch", key)
                yield Problem(loaded.place(*path), path, f"the cluster knows no {key} `{name}` for you", cure)
