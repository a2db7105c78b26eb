"""Which scheduler a command uses: the one that is asked for, else the cluster this machine belongs to, else its own.

Promise: a machine that belongs to a cluster never runs a sweep by itself because the cluster is down for a moment.
"""

import shutil
from pathlib import Path
from typing import Literal

from reward_profiling.errors import LaunchError, SchedulerUnknownError
from reward_profiling.scheduler.local import LocalScheduler
from reward_profiling.scheduler.protocol import Scheduler
from reward_profiling.scheduler.slurm import NO_SLURM, SlurmScheduler


def find_scheduler(kind: Literal["slurm", "local"] | None, *, local_directory: Path, slots: int) -> Scheduler:
    """The scheduler to use; with `kind` None, Slurm where its commands are on the PATH and know a cluster.

    Raises LaunchError when Slurm is asked for where there is none, and SchedulerUnknownError when none is asked for
    and the cluster that is configured here does not answer.
    """
    if kind == "local":
        return LocalScheduler(local_directory, slots)
    slurm = SlurmScheduler()
    if not (shutil.which("sbatch") and shutil.which("squeue")):
        configured = False
    else:
        try:
            configured = slurm.configured()
        except SchedulerUnknownError as error:
            if kind is None:
                raise SchedulerUnknownError(
                    f"the cluster does not answer ({error.problem})",
                    place=error.place,
                    cure="wait, or choose --scheduler local",
                ) from error
            configured = True
    if configured:
        return slurm
    if kind == "slurm":
        raise LaunchError("there is no Slurm here", place="--scheduler slurm", cure=NO_SLURM)
    return LocalScheduler(local_directory, slots)
