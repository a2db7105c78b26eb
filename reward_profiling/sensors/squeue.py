"""The squeue sensor: keeps started shards going when no run is left that watches them.

Promise: one scheduler query per tick for all shards of all sweeps. A shard is started when somebody materialized its
`rollouts` partition in this Dagster instance (`started`); what nobody started is never submitted, so the sensor is on
by default. It records endings and adopts jobs as a watching run does, requests a run for what is incomplete and has no
live job, materializes what is complete, and leaves alone what was given up. An error of one sweep is reported and does
not stop the others. A tick ends before Dagster's limit, and the next one goes on where it stopped.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import replace

import dagster as dg

from reward_profiling.assets.sweep import Sweep
from reward_profiling.checks import complete
from reward_profiling.resources.launching import SweepLauncher
from reward_profiling.sensors.cursor import Cursor
from reward_profiling.sensors.requests import requests
from reward_profiling.sensors.started import started
from reward_profiling.sensors.tick import Tick

INTERVAL_SECONDS = 30
OBSERVE_SECONDS = 600.0
_TICK_SECONDS = 40.0  # of the 60 that Dagster gives a tick
_SHOWN_NOTES = 20


def squeue_sensor(sweeps: Sequence[Sweep]) -> dg.SensorDefinition:
    """The one sensor of a code location with the given sweeps (at least one)."""

    @dg.sensor(
        name="squeue",
        asset_selection=[sweep.key("rollouts") for sweep in sweeps],
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Keeps the shards that somebody started going when no run is left that watches them.",
    )
    def squeue(context: dg.SensorEvaluationContext, launcher: SweepLauncher) -> dg.SensorResult:
        return evaluate(sweeps, context.instance, launcher, Cursor.read(context.cursor), time.time())

    return squeue


def evaluate(
    sweeps: Sequence[Sweep], instance: dg.DagsterInstance, launcher: SweepLauncher, cursor: Cursor, now: float
) -> dg.SensorResult:
    """One tick; `now` is in Unix seconds."""
    observe = now - cursor.observed_at >= OBSERVE_SECONDS
    tick = Tick(launcher, deadline=time.monotonic() + _TICK_SECONDS, observe=observe)
    shards = [(sweep, number) for sweep in sweeps for number in started(instance, sweep)]
    stopped_at = tick.take(cursor.from_here(shards))
    wanted = [each for sweep in sweeps for each in requests(sweep, tick.attempts.get(sweep.nickname, {}), now)]
    for sweep in sweeps:
        if sweep.nickname in tick.finished:
            tick.events.append(complete.judge(sweep.directory, os.environ).evaluation(sweep.key("rollouts")))
    place = Cursor() if stopped_at is None else Cursor(stopped_at[0].nickname, stopped_at[1])
    return dg.SensorResult(
        run_requests=wanted,
        asset_events=tick.events,
        skip_reason=None if wanted else dg.SkipReason(_summary(tick.notes)),
        cursor=replace(place, observed_at=now if observe else cursor.observed_at).text,
    )


def _summary(notes: Sequence[str]) -> str:
    if not notes:
        return "no shard waits for this sensor"
    more = len(notes) - _SHOWN_NOTES
    return "; ".join(notes[:_SHOWN_NOTES]) + (f"; and {more} more" if more > 0 else "")
