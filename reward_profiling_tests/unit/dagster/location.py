"""A small code location for tests: manifests, an ephemeral instance, and a scheduler in memory under test control."""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import dagster as dg
import orjson

from reward_profiling.assets.sweep import Sweep, find_sweeps
from reward_profiling.definitions import build
from reward_profiling.errors import LaunchError, SchedulerUnknownError
from reward_profiling.launch.act import Launcher
from reward_profiling.launch.decide import Budget
from reward_profiling.launch.session import Session
from reward_profiling.launch.watch import job_name
from reward_profiling.resources.launching import SweepLauncher
from reward_profiling.scheduler.protocol import Job, JobSpec, JobState, Scheduler
from reward_profiling.sweep.completeness import load_plan, outstanding
from reward_profiling.sweep.layout import ShardDir, SweepDir, shard_number
from reward_profiling.sweep.materialize import materialize
from reward_profiling.sweep.request import request_from
from reward_profiling_tests.sweeps import append, rollout, source_row, write_rows


def write_manifest(folder: Path, nickname: str = "tiny", *, name: str | None = None, **changes: Any) -> Path:
    """A manifest of one entry, `alpha`: 5 tasks with 2 repeats over 3 shards; `changes` replace top-level keys."""
    write_rows(folder / "data" / "alpha.jsonl", (source_row("alpha", number) for number in range(5)))
    (folder / "data" / "alpha.yaml").write_text("{}\n")
    values: dict[str, Any] = {
        "nickname": nickname,
        "num_shards": 3,
        "gym_env_start": {"policy_base_url": "http://127.0.0.1:9/v1", "policy_model_name": "none"},
        "entries": [
            {
                "label": "alpha",
                "agent": "agent_a",
                "configs": ["data/alpha.yaml"],
                "data": "data/alpha.jsonl",
                "num_repeats": 2,
            }
        ],
    }
    path = folder / (name or f"{nickname}.yaml")
    path.write_bytes(orjson.dumps(values | changes))  # JSON is YAML
    return path


@dataclass
class MemoryScheduler:
    """Jobs in memory. At its submission a job does what `work` says and takes the state that it returns."""

    work: Callable[[JobSpec], JobState]
    jobs: dict[str, Job] = field(default_factory=dict)
    silent: bool = False
    refusal: str = ""
    questions: int = 0
    on_question: Callable[[], None] = lambda: None
    kind: str = "memory"

    def submit(self, spec: JobSpec) -> str:
        if self.refusal:
            raise LaunchError(self.refusal)
        job_id = str(len(self.jobs) + 1)
        self.jobs[job_id] = Job(job_id, spec.name, self.work(spec))
        return job_id

    def queue(self) -> tuple[Job, ...]:
        self.questions += 1
        self.on_question()
        if self.silent:
            raise SchedulerUnknownError("no answer")
        return tuple(self.jobs.values())

    def history(self, ids: Collection[str]) -> Mapping[str, Job]:
        return {job_id: self.jobs[job_id] for job_id in ids if job_id in self.jobs}

    def cancel(self, job_id: str) -> None:
        self.end(job_id, JobState.CANCELLED)

    def end(self, job_id: str, state: JobState) -> None:
        self.jobs[job_id] = replace(self.jobs[job_id], state=state)

    def live(self, name: str) -> list[Job]:
        """The live jobs of one shard, by the shard's name."""
        return [job for job in self.jobs.values() if job.live and f".{name}." in job.name]


class MemoryLauncher(SweepLauncher):
    """Opens sessions on `Location.scheduler` instead of a real scheduler."""

    location: str
    poll_seconds: float | None = 0.0

    def open(self, sweep: SweepDir, scheduler: Scheduler | None = None) -> Session:
        plan = load_plan(sweep, {})
        clock = itertools.count(1_000)

        def prepare(shard: ShardDir, attempt: int) -> JobSpec:
            name = job_name(sweep, shard_number(shard.name) or 0)
            return JobSpec(name, shard.job_script, shard.path, shard.path / "job.log")

        location = _LOCATIONS[self.location]
        # As with a real cluster, looking for the scheduler costs a question.
        location.scheduler.questions += scheduler is None
        found = scheduler or location.scheduler
        launcher = Launcher(found, prepare, Budget(attempts=6, fruitless=2), lambda: float(next(clock)))
        return Session(plan=plan, launcher=launcher, settings=cast(Any, None))


@dataclass
class Location:
    """Definitions of the manifests in `root/manifests`, and an instance to run them on."""

    root: Path
    scheduler: MemoryScheduler
    instance: dg.DagsterInstance
    launcher: MemoryLauncher = field(init=False)

    def __post_init__(self) -> None:
        self.launcher = MemoryLauncher(location=str(self.root))
        _LOCATIONS[str(self.root)] = self

    @property
    def environ(self) -> dict[str, str]:
        return {
            "REWARD_PROFILING_MANIFESTS_DIR": str(self.root / "manifests"),
            "REWARD_PROFILING_SWEEPS_DIR": str(self.root / "sweeps"),
        }

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        return find_sweeps(self.root / "manifests", self.root / "sweeps", {}).sweeps

    @property
    def sweep(self) -> Sweep:
        """The only sweep."""
        (sweep,) = self.sweeps
        return sweep

    def definitions(self) -> dg.Definitions:
        return build(self.environ, self.launcher)

    def materialize(
        self, *keys: str, shards: Sequence[int] = (), tags: Mapping[str, str] | None = None
    ) -> dg.ExecuteInProcessResult:
        """Run the assets with these keys (`tiny/tasks`), with a range of partitions when `shards` are given."""
        job = self.definitions().resolve_implicit_global_asset_job_def()
        run_tags = dict(tags or {})
        if shards:
            run_tags["dagster/asset_partition_range_start"] = f"shard_{min(shards):03d}"
            run_tags["dagster/asset_partition_range_end"] = f"shard_{max(shards):03d}"
        selection = [dg.AssetKey.from_user_string(key) for key in keys]
        return job.execute_in_process(
            instance=self.instance, tags=run_tags, raise_on_error=False, asset_selection=selection
        )

    def prepare(self) -> None:
        """Make everything that rollouts need, for all sweeps."""
        for sweep in self.sweeps:
            materialize(request_from(sweep.loaded), self.root / "sweeps")

    def status(self, nickname: str = "tiny") -> dict[str, str | None]:
        """What Dagster says of the shards' rollouts."""
        sweep = next(each for each in self.sweeps if each.nickname == nickname)
        names = sweep.partitions.get_partition_keys()
        found = self.instance.get_status_by_partition(sweep.key("rollouts"), names, sweep.partitions) or {}
        return {name: each.value if (each := found.get(name)) else None for name in names}


_LOCATIONS: dict[str, Location] = {}


def failure_text(result: dg.ExecuteInProcessResult) -> str:
    """The one line with which a run's step failed."""
    (event,) = [event for event in result.all_events if event.is_step_failure]
    data = event.step_failure_data.user_failure_data
    assert data is not None, event.step_failure_data.error
    return data.description or ""


def events(result: dg.ExecuteInProcessResult, kind: dg.DagsterEventType) -> Iterator[Any]:
    """The event-specific data of one kind of event."""
    return (event.event_specific_data for event in result.all_events if event.event_type == kind)


def collect(most: int, state: JobState = JobState.COMPLETED) -> Callable[[JobSpec], JobState]:
    """A job that collects up to `most` of what is outstanding, then is in `state`."""

    def work(spec: JobSpec) -> JobState:
        collect_into(ShardDir(spec.directory), most)
        return state

    return work


def collect_into(shard: ShardDir, most: int) -> None:
    """Append up to `most` outstanding rollouts to a shard."""
    plan = load_plan(SweepDir(shard.path.parent.parent), {})
    owed = outstanding(plan, shard_number(shard.name) or 0).select("task_index", "rollout_index").rows()
    append(shard.rollouts, *(rollout(key) for key in owed[:most]))


def die_when_running(location: Location, shards: Sequence[int], *, cancelled: bool = False) -> None:
    """The next run gets the signal that ends it when all these shards have live jobs, after a person's cancel when
    `cancelled`."""
    names = [f"shard_{number:03d}" for number in shards]

    def on_question() -> None:
        if all(map(location.scheduler.live, names)):
            location.scheduler.on_question = lambda: None
            if cancelled:
                (record,) = location.instance.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
                location.instance.report_run_canceling(record.dagster_run)
            raise dg.DagsterExecutionInterruptedError

    location.scheduler.on_question = on_question
