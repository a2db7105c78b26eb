"""The scheduler options of a shard's job, from the manifest's `sbatch` block.

Promise: names as sbatch spells them, without dashes in front; None is a flag. What the scheduler sets for every job
(name, log, singleton, no requeue) is not among them.
"""

from reward_profiling.manifest.schema import Manifest
from reward_profiling.scheduler import slurm_times

_LONGEST_LEAD = 300
_SHORTEST_LEAD = 30


def scheduler_options(manifest: Manifest) -> dict[str, str | None]:
    """The manifest's own options, and what a job needs on top: its nodes, and a signal before the walltime ends."""
    options: dict[str, str | None] = {"nodes": str(manifest.nodes_per_job), "ntasks-per-node": "1"}
    for name, value in manifest.sbatch.options.items():
        if value is False:
            options.pop(name, None)
        else:
            options[name] = None if value is True else str(value)
    options.setdefault("signal", f"B:USR1@{_lead(options.get('time'))}")
    return options


def _lead(limit: str | None) -> int:
    """Seconds between the signal and the end: enough to stop and count, and little of a short job."""
    seconds = slurm_times.seconds(limit) if limit else None
    return _LONGEST_LEAD if seconds is None else min(_LONGEST_LEAD, max(_SHORTEST_LEAD, seconds // 12))
