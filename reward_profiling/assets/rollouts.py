"""The `rollouts` asset: a partition is materialized when nothing is outstanding for its shard.

Promise: one run serves any number of partitions with one scheduler query per look; each is reported the moment it is
complete, and at the end the run fails naming those that are not, and why. A run that dies, is interrupted or whose time
is over leaves its jobs running, to be adopted; only a person's cancel cancels them.
"""

import os
import time
from collections.abc import Iterator
from typing import Any

import dagster as dg

from reward_profiling.assets.cancel import cancel_jobs
from reward_profiling.assets.failures import one_line
from reward_profiling.assets.reporter import Reporter
from reward_profiling.assets.shards import requested_shards
from reward_profiling.assets.sweep import ONE_RUN, Sweep
from reward_profiling.checks import complete
from reward_profiling.errors import RewardProfilingError
from reward_profiling.launch.session import Session
from reward_profiling.launch.watch import watch
from reward_profiling.resources.launching import SweepLauncher
from reward_profiling.sweep.completeness import Plan

SWEEP_TAG = "reward_profiling/sweep"
"""Run tag: the nickname of the sweep that a run watches."""

MAX_RUNTIME_TAG = "dagster/max_runtime"
_SENSOR_TAG = "dagster/sensor_name"
# Dagster's monitoring ends a run of which no process is left; a run that lives has ended itself by then.
_MARGIN_SECONDS = 600.0
_TIME_IS_OVER = "this run has watched for as long as it may; the jobs go on, and the squeue sensor takes them up"


class TimeIsOverError(Exception):
    """A run has watched for as long as it may."""


def rollouts_asset(sweep: Sweep) -> dg.AssetsDefinition:
    """Materializing it submits jobs, or adopts those that are there, and watches them."""
    key = sweep.key("rollouts")

    @dg.asset(
        key=key,
        group_name=sweep.group,
        deps=[sweep.key("shards"), sweep.key("manifest")],
        partitions_def=sweep.partitions,
        backfill_policy=ONE_RUN,
        check_specs=[complete.spec(key)],
        kinds={"jsonl"},
        description="What the jobs collect. A shard is done when nothing is outstanding by NeMo Gym's own rule.",
    )
    def rollouts(context: dg.AssetExecutionContext, launcher: SweepLauncher) -> Iterator[Any]:
        with one_line():
            session = launcher.open(sweep.directory)
            reporter = Reporter(context, key, session.plan, requested_shards(context, sweep, session.plan.report))
            unfinished = _watch(context, launcher, session, reporter)
            if not unfinished:
                yield reporter.result()
            yield complete.judge(sweep.directory, os.environ).result(key)
            if unfinished:
                raise dg.Failure(description=unfinished, allow_retries=False)

    return rollouts


def _watch(context: dg.AssetExecutionContext, launcher: SweepLauncher, session: Session, reporter: Reporter) -> str:
    """Watch the shards to their end; returns which of them are incomplete and why, empty when none is."""
    end = time.monotonic() + launcher.watch_seconds
    plan, numbers = session.plan, reporter.numbers
    _tag_run(context, launcher, plan)
    if _SENSOR_TAG not in context.run.tags:
        # Who materializes a shard that was given up wants it tried again.
        for number in numbers:
            session.launcher.release(plan.sweep.shard(number))

    def pause() -> None:
        if time.monotonic() > end:
            raise TimeIsOverError
        time.sleep(launcher.poll(session))

    try:
        watch(plan, numbers, session.launcher, on_step=reporter.report, pause=pause)
    except TimeIsOverError:
        return reporter.unfinished(_TIME_IS_OVER)
    except RewardProfilingError as error:
        return reporter.unfinished(str(error))
    except dg.DagsterExecutionInterruptedError:
        # The same exception reports the end of the process around us; the status tells a person's wish from it.
        run = context.instance.get_run_by_id(context.run.run_id)
        if run is not None and run.status == dg.DagsterRunStatus.CANCELING:
            for line in cancel_jobs(session, numbers):
                context.log.warning(line)
        raise
    return reporter.unfinished()


def _tag_run(context: dg.AssetExecutionContext, launcher: SweepLauncher, plan: Plan) -> None:
    tags = {
        SWEEP_TAG: plan.sweep.nickname,
        "reward_profiling/manifest_digest": plan.report.manifest_digest,
        MAX_RUNTIME_TAG: f"{launcher.watch_seconds + _MARGIN_SECONDS:.0f}",
    }
    context.instance.add_run_tags(context.run.run_id, tags)
