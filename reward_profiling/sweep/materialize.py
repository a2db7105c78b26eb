"""From a request to a sweep directory that jobs can run against, in three stages.

Promise: each stage leaves whole files or none and can be run again. What would renumber or redeal tasks that have
rollouts or attempts is refused (design, decision 1); collected rollouts are never touched. The same request gives the
same bytes.
"""

import datetime
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reward_profiling.errors import RefusedError, SweepError
from reward_profiling.files import write_text
from reward_profiling.sweep.completeness import check_work_list
from reward_profiling.sweep.layout import ShardDir, SweepDir, shard_number
from reward_profiling.sweep.report import (
    EntryReport,
    SettingReport,
    ShardRecord,
    SweepReport,
    read_report,
    read_shard_record,
    write_report,
)
from reward_profiling.sweep.sampling import SampleMode
from reward_profiling.sweep.sources import index_source
from reward_profiling.sweep.tasks import (
    EntryPlan,
    IndexedEntry,
    build_task_table,
    read_tasks,
    tasks_digest,
    write_tasks,
)
from reward_profiling.sweep.work_list import write_shard

Note = Callable[[str], None]
"""Takes one line of progress."""


@dataclass(frozen=True)
class SweepRequest:
    """A resolved manifest, as the data plane needs it. `snapshot` and `sweep_config` are the YAML texts to write."""

    nickname: str
    manifest: str
    manifest_digest: str
    snapshot: str
    sweep_config: str
    num_shards: int
    sample: SampleMode
    seed: int
    limit_per_entry: int | None
    entries: tuple[EntryPlan, ...]
    settings: tuple[SettingReport, ...]


def existing_shards(sweep: SweepDir) -> list[ShardDir]:
    """The shard directories that are there, in order."""
    if not sweep.shards.is_dir():
        return []
    return sorted(
        (ShardDir(path) for path in sweep.shards.iterdir() if shard_number(path.name) is not None),
        key=lambda shard: shard_number(shard.name) or 0,
    )


def in_use(shard: ShardDir) -> bool:
    """Whether anything was collected or submitted for a shard."""
    paths = (shard.rollouts, shard.failures, shard.attempts)
    return any(path.exists() and path.stat().st_size > 0 for path in paths)


def stage_manifest(sweep: SweepDir, request: SweepRequest) -> None:
    """Write the snapshot of the manifest and the config that Gym reads."""
    write_text(sweep.sweep_config, request.sweep_config)
    write_text(sweep.manifest, request.snapshot)


def stage_tasks(sweep: SweepDir, request: SweepRequest, *, jobs: int, overwrite: bool, note: Note) -> SweepReport:
    """Index the sources and write task table and report.

    Raises `DatasetError` for bad data and `RefusedError` when the sweep already is another one: with rollouts or
    attempts always, else unless `overwrite`.
    """
    indexed = []
    for plan in request.entries:
        indexed.append(IndexedEntry(plan, index_source(plan.data, plan.rule, jobs=jobs)))
        note(f"{plan.label}: {indexed[-1].index.rows.height} rows")
    table = build_task_table(indexed, request.sample, request.seed)
    digest = tasks_digest(table)
    _refuse_another(sweep, digest, request.num_shards, overwrite=overwrite)
    _remove_surplus(sweep, request.num_shards)
    write_tasks(sweep.tasks, table)
    report = _report(request, indexed, digest, dict(table.group_by("label").len().iter_rows()))
    write_report(sweep, report)
    return report


def stage_shard(sweep: SweepDir, number: int) -> ShardRecord:
    """Write one shard's work list, unless it is there as the task table says."""
    report = read_report(sweep)
    shard = sweep.shard(number)
    try:
        check_work_list(shard, report.tasks_digest)
    except SweepError:
        table = read_tasks(sweep.tasks, report.tasks_digest)
        return write_shard(sweep, number, table, report.num_shards, report.tasks_digest)
    return read_shard_record(shard)


def materialize(
    request: SweepRequest, sweeps_dir: Path, *, jobs: int = 1, overwrite: bool = False, note: Note = lambda _: None
) -> SweepReport:
    """All three stages for all shards."""
    sweep = SweepDir(sweeps_dir / request.nickname)
    report = stage_tasks(sweep, request, jobs=jobs, overwrite=overwrite, note=note)
    stage_manifest(sweep, request)
    for number in range(report.num_shards):
        record = stage_shard(sweep, number)
        note(f"{record.shard}: {record.tasks} tasks, {record.rollouts} rollouts, {record.work_list_bytes} bytes")
    return report


def _refuse_another(sweep: SweepDir, digest: str, num_shards: int, *, overwrite: bool) -> None:
    if not sweep.report.exists():
        return
    old = read_report(sweep)
    if (old.tasks_digest, old.num_shards) == (digest, num_shards):
        return
    changed = "tasks" if old.tasks_digest != digest else f"number of shards ({old.num_shards} to {num_shards})"
    used = [shard.name for shard in existing_shards(sweep) if in_use(shard)]
    if used:
        raise RefusedError(
            f"the manifest changes the {changed}, and {used[0]} has rollouts or attempts already",
            place=str(sweep.path),
            cure="give the manifest a new nickname, or undo the change",
        )
    if not overwrite:
        raise RefusedError(
            f"a sweep with other {changed} is here", place=str(sweep.path), cure="pass --overwrite to replace it"
        )


def _remove_surplus(sweep: SweepDir, num_shards: int) -> None:
    """Remove unused shards of an earlier, larger layout, so that nobody submits them."""
    for shard in existing_shards(sweep):
        number = shard_number(shard.name)
        if number is not None and number >= num_shards and not in_use(shard):
            shutil.rmtree(shard.path)


def _report(request: SweepRequest, indexed: list[IndexedEntry], digest: str, taken: dict[str, int]) -> SweepReport:
    entries = []
    first = 0
    for entry in indexed:
        plan, tasks = entry.plan, taken[entry.plan.label]
        entries.append(
            EntryReport(
                label=plan.label,
                agent=plan.agent_ref_override or plan.agent,
                owner=plan.owner,
                data=str(plan.data),
                data_size=entry.index.size,
                data_modified_ns=entry.index.modified_ns,
                rows=entry.index.rows.height,
                tasks=tasks,
                repeats=plan.repeats,
                limit=plan.limit,
                pass_threshold=plan.pass_threshold,
                task_index_range=(first, first + tasks),
            )
        )
        first += tasks
    return SweepReport(
        nickname=request.nickname,
        manifest=request.manifest,
        manifest_digest=request.manifest_digest,
        tasks_digest=digest,
        num_shards=request.num_shards,
        sample=request.sample,
        seed=request.seed,
        limit_per_entry=request.limit_per_entry,
        materialized_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        entries=tuple(entries),
        settings=request.settings,
    )
