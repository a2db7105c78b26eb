"""Everything that running a sweep takes, resolved once: plan, job settings, scheduler, launcher.

Promise: the manifest that runs is the sweep's own snapshot; environment variables and then the command line change its
settings (design, decision 9). Whatever is missing, and rollouts that would mean something else than those
that are there, are refused here, before anything is submitted.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reward_profiling.files import make_directory, write_text
from reward_profiling.launch.act import Launcher
from reward_profiling.launch.decide import Budget
from reward_profiling.launch.gym_command import GymCommand
from reward_profiling.launch.script import job_log, render_job
from reward_profiling.launch.settings import JobSettings
from reward_profiling.launch.watch import job_name
from reward_profiling.manifest.load import LoadedManifest, load_manifest
from reward_profiling.manifest.meaning import meaning
from reward_profiling.scheduler.protocol import JobSpec, Scheduler
from reward_profiling.scheduler.select import find_scheduler
from reward_profiling.sweep.completeness import Plan, check_work_list, load_plan
from reward_profiling.sweep.gating import MAX_ATTEMPTS_VARIABLE
from reward_profiling.sweep.layout import ShardDir, SweepDir, shard_number
from reward_profiling.sweep.settle import agree_on_meaning

SchedulerKind = Literal["slurm", "local"]


@dataclass(frozen=True)
class Session:
    """A sweep that is ready to run."""

    plan: Plan
    launcher: Launcher
    settings: JobSettings


def open_session(
    sweep: SweepDir,
    *,
    environ: Mapping[str, str],
    scheduler: SchedulerKind | Scheduler | None = None,
    gym: str | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Session:
    """Resolve what running the materialized `sweep` takes.

    `scheduler` None takes Slurm where it is found, which costs a question; one that was found for a sweep beside this
    one serves as it is. `gym` None takes the environment's, else `gym` from PATH; `overrides` are settings from the
    command line by dotted name. Raises a `BadInputError` for whatever is missing.
    """
    plan = load_plan(sweep, environ)
    loaded = load_manifest(sweep.manifest, environ=environ, overrides=overrides)
    settings = job_settings(loaded, environ=environ, gym=gym)
    settings.refuse_unset(environ)
    if scheduler is None or isinstance(scheduler, str):
        scheduler = local_or_slurm(sweep.path.parent, scheduler)
    agree_on_meaning(plan, _meaning(loaded, settings))
    return Session(plan, _launcher(plan, settings, scheduler, environ), settings)


def job_settings(loaded: LoadedManifest, *, environ: Mapping[str, str], gym: str | None = None) -> JobSettings:
    """The settings of a sweep's jobs, from its snapshot of the manifest."""
    return JobSettings.from_manifest(loaded, gym=GymCommand.find(environ, gym), environ=environ)


def _meaning(loaded: LoadedManifest, settings: JobSettings) -> dict[str, str]:
    """What the rollouts of these jobs mean; those of the collector stand-in and of a Gym are never the same."""
    collector = "simulated" if settings.gym.simulated else "gym"
    return {**meaning(loaded.manifest, loaded.roots), "collector": collector}


def local_or_slurm(sweeps_dir: Path, kind: SchedulerKind | None) -> Scheduler:
    """The scheduler for the sweeps below `sweeps_dir`; its local state, if any, lies there too."""
    # One directory for all sweeps: the limit on jobs at a time is this machine's, not one sweep's.
    return find_scheduler(kind, local_directory=sweeps_dir / ".local-scheduler", slots=min(4, os.cpu_count() or 1))


def _launcher(plan: Plan, settings: JobSettings, scheduler: Scheduler, environ: Mapping[str, str]) -> Launcher:
    # The job's Gym must follow the very rule by which we call a rollout outstanding.
    environment = {MAX_ATTEMPTS_VARIABLE: str(plan.rule.max_attempts)}
    environment |= {name: environ[name] for name in settings.secrets}

    def prepare(shard: ShardDir, attempt: int) -> JobSpec:
        # The sweep may have been resharded since the plan was read.
        check_work_list(shard, plan.report)
        write_text(shard.job_script, render_job(shard, plan.sweep, attempt, settings))
        log = job_log(shard, attempt)
        make_directory(log.parent)
        return JobSpec(
            name=job_name(plan.sweep, shard_number(shard.name) or 0),
            script=shard.job_script,
            directory=shard.path,
            log=log,
            options=settings.options,
            environment=environment,
        )

    return Launcher(scheduler, prepare, Budget(), time.time)
