"""Cancelling the jobs of shards because a person cancelled the run that watches them."""

from collections.abc import Iterator, Sequence

from reward_profiling.errors import RewardProfilingError
from reward_profiling.launch.act import jobs_by_name
from reward_profiling.launch.ledger import read_ledger
from reward_profiling.launch.session import Session
from reward_profiling.launch.watch import ask_queue, job_name


def cancel_jobs(session: Session, numbers: Sequence[int]) -> Iterator[str]:
    """Cancel every live job of the given shards; yields one line per job, cancelled or not."""
    scheduler = session.launcher.scheduler
    for number, job_id in _jobs(session, numbers):
        name = session.plan.sweep.shard(number).name
        try:
            scheduler.cancel(job_id)
        except RewardProfilingError as error:
            yield f"{name}: job {job_id} may still be running, cancel it by hand: {error}"
        else:
            yield f"{name}: job {job_id} is cancelled"


def _jobs(session: Session, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The live jobs by the queue and by the ledger: an interrupted submission is in the queue only."""
    sweep = session.plan.sweep
    queue = jobs_by_name(ask_queue(session.launcher) or ())
    for number in numbers:
        ids = {job.id for job in queue.get(job_name(sweep, number), ()) if job.live}
        attempt = read_ledger(sweep.shard(number)).open_attempt
        if attempt is not None:
            ids.add(attempt.job_id)
        for job_id in sorted(ids):
            yield number, job_id
