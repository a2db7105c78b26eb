"""What every scheduler demands of a submission, and the environment that a submission starts from.

Promise: a job that could only fail later and unseen (no script, no folder, no place for its log) is refused before it
is handed over; nothing of a job that the submitter itself runs in leaks into the new one.
"""

import os
import re

from reward_profiling.errors import LaunchError
from reward_profiling.files import storage_error
from reward_profiling.scheduler.protocol import JobSpec

_NAME = re.compile(r"[A-Za-z0-9._-]{1,500}")
_OPTION = re.compile(r"[a-z][a-z0-9-]*")
# What tells Slurm's commands where and as whom to ask; every other variable of theirs would change what they do.
_CLIENT = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT"})
_COMMANDS = ("SLURM_", "SLURMD_", "SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_", "SCONTROL_", "SRUN_", "RP_JOB_")


def prepare(spec: JobSpec) -> None:
    """Check a submission and make its log's folder; raises LaunchError, or StorageError for the folder.

    Slurm itself would start a job with a missing folder in /tmp, and end one without a place for its log unseen.
    """
    if not _NAME.fullmatch(spec.name):
        raise LaunchError(
            f"{spec.name!r} cannot be a job's name", cure="use letters, digits, dot, dash and underscore, at most 500"
        )
    for option, value in spec.options.items():
        if not _OPTION.fullmatch(option) or (value is not None and not value.isprintable()):
            raise LaunchError(f"{option!r}: {value!r} cannot be an option of a job", cure="give the long option's name")
    if not spec.directory.is_dir():
        raise LaunchError("the job's folder does not exist", place=str(spec.directory))
    try:
        with spec.script.open("rb") as stream:
            start = stream.read(2)
    except OSError as error:
        raise LaunchError("the job script cannot be read", place=str(spec.script), cure=str(error.strerror)) from error
    if start != b"#!":
        raise LaunchError("the job script has no #! line", place=f"{spec.script}:1", cure="start it with #!/bin/bash")
    try:
        spec.log.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(spec.log.parent, error) from error


def clean_environment() -> dict[str, str]:
    """This process's environment without what a surrounding job or a user's Slurm defaults would inject."""
    return {name: value for name, value in os.environ.items() if name in _CLIENT or not name.startswith(_COMMANDS)}
