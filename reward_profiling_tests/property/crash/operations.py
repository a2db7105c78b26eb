"""The operations that are killed: what a child process does, by name, on a folder that holds one sweep.

Promise: each is what a command or a job does, with nothing taken out, and is repeated by calling it again.
"""

import itertools
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import orjson

from reward_profiling.files import append_json_line, exclusive_lock, make_directory, read_json_lines, write_json
from reward_profiling.launch.act import Launcher
from reward_profiling.launch.decide import Budget
from reward_profiling.launch.reshard import reshard
from reward_profiling.launch.watch import job_name, step
from reward_profiling.scheduler.protocol import Job, JobSpec, JobState
from reward_profiling.sweep.completeness import load_plan, look
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.layout import ShardDir, SweepDir, shard_number
from reward_profiling.sweep.materialize import materialize
from reward_profiling.sweep.merge import merge
from reward_profiling.sweep.report import read_report
from reward_profiling.sweep.split import split
from reward_profiling.sweep.tasks import EntryPlan
from reward_profiling_tests.sweeps import request, source_row, write_rows

Arguments = Mapping[str, Any]


class FolderScheduler:
    """A scheduler whose records are a file: one line per job and per ending."""

    kind = "folder"

    def __init__(self, folder: Path) -> None:
        self._jobs = folder / "jobs.jsonl"
        self._lock = folder / "jobs.lock"

    def submit(self, spec: JobSpec) -> str:
        with exclusive_lock(self._lock):
            number = str(len(read_json_lines(self._jobs)) + 1)
            append_json_line(self._jobs, {"id": number, "name": spec.name, "state": JobState.RUNNING.value})
        return number

    def queue(self) -> tuple[Job, ...]:
        return tuple(self.jobs().values())

    def jobs(self) -> dict[str, Job]:
        """All jobs by id; the latest line about a job counts."""
        lines = read_json_lines(self._jobs)
        return {each["id"]: Job(each["id"], each["name"], JobState(each["state"])) for each in lines}

    def end_all(self) -> None:
        """Let every live job end."""
        for job in self.queue():
            if job.live:
                ended = {"id": job.id, "name": job.name, "state": JobState.FAILED.value}
                append_json_line(self._jobs, ended)

    def history(self, ids: Collection[str]) -> Mapping[str, Job]:
        return {number: job for number, job in self.jobs().items() if number in ids}

    def cancel(self, job_id: str) -> None:
        raise NotImplementedError


def sweep_in(folder: Path) -> SweepDir:
    """The sweep of a folder."""
    return SweepDir(folder / "sweeps" / "tiny")


def entries(folder: Path, tasks: int, repeats: int, labels: int) -> list[EntryPlan]:
    """Entries with datasets that are always the same."""
    made = []
    for number in range(labels):
        label = "abcdefgh"[number]
        data = folder / f"{label}-{tasks}.jsonl"
        if not data.exists():
            write_rows(data, [source_row(label, row) for row in range(tasks)])
        made.append(EntryPlan(label=label, agent="agent_a", data=data, repeats=repeats))
    return made


def _materialize(folder: Path, arguments: Arguments) -> None:
    made = entries(folder, arguments["tasks"], arguments["repeats"], arguments["labels"])
    num_shards = arguments.get("num_shards") or read_report(sweep_in(folder)).num_shards
    materialize(request(made, layout=Layout(num_shards=num_shards)), folder / "sweeps")


def _index(folder: Path, arguments: Arguments) -> None:
    plan = load_plan(sweep_in(folder), {})
    for number in range(plan.report.num_shards):
        look(plan, number)


def _reshard(folder: Path, arguments: Arguments) -> None:
    reshard(sweep_in(folder), arguments["num_shards"], FolderScheduler(folder), {})


def _merge(folder: Path, arguments: Arguments) -> None:
    merge(load_plan(sweep_in(folder), {}), folder / "merged" / "all.jsonl")


def _split(folder: Path, arguments: Arguments) -> None:
    split(load_plan(sweep_in(folder), {}), folder / "by_label")


def _ledger(folder: Path, arguments: Arguments) -> None:
    """Watch every shard for some steps; jobs end in between."""
    plan, scheduler = load_plan(sweep_in(folder), {}), FolderScheduler(folder)

    def prepare(shard: ShardDir, attempt: int) -> JobSpec:
        write_json(shard.job_script, {"attempt": attempt})
        log = shard.attempt_logs(attempt) / "log"
        make_directory(log.parent)
        return JobSpec(job_name(plan.sweep, shard_number(shard.name) or 0), shard.job_script, shard.path, log)

    ticks = itertools.count(time.time_ns())
    launcher = Launcher(scheduler, prepare, Budget(10**6, 10**6), lambda: next(ticks) / 1e9)
    for _ in range(arguments["steps"]):
        step(plan, range(plan.report.num_shards), launcher)
        if arguments["end"]:
            scheduler.end_all()


OPERATIONS: dict[str, Callable[[Path, Arguments], None]] = {
    "materialize": _materialize,
    "index": _index,
    "reshard": _reshard,
    "merge": _merge,
    "split": _split,
    "ledger": _ledger,
}


def run(command: bytes) -> None:
    """Do what one line of JSON asks for."""
    asked = orjson.loads(command)
    OPERATIONS[asked["operation"]](Path(asked["folder"]), asked["arguments"])
