"""Which waiting job of the local scheduler may start.

Promise: a pure decision. At most one job of a name is under way, at most `slots` jobs altogether, and jobs start in
the order of their submission except where they wait for their own name.
"""

from collections.abc import Sequence

from reward_profiling.scheduler.local_records import LocalJob
from reward_profiling.scheduler.protocol import JobState


def may_start(number: int, jobs: Sequence[LocalJob], slots: int) -> bool:
    """Whether the waiting job `number` is next among `jobs` (all of them, in any order)."""
    live = sorted((job for job in jobs if not job.state.state.ended), key=lambda job: job.number)
    names = {job.spec.name for job in live if _under_way(job)}
    free = slots - sum(_under_way(job) for job in live)
    for job in live:
        if _under_way(job) or job.spec.name in names:
            continue
        if job.number == number:
            return free > 0
        names.add(job.spec.name)
        free -= 1
    return False


def _under_way(job: LocalJob) -> bool:
    """Whether the job holds its slot and its name: from its start until its last process is gone."""
    return job.state.state is not JobState.PENDING
