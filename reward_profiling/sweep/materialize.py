"""From a request to a sweep directory that jobs can run against, in three stages.

Promise: each stage leaves whole files or none and can be run again. What would renumber or redeal tasks that have
rollouts or attempts, or change what their rollouts mean, is refused (design, decision 1); collected rollouts are never
deleted. The same request gives the same bytes.
"""

import datetime
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reward_profiling.errors import SweepError
from reward_profiling.files import make_directory, write_text
from reward_profiling.sweep.completeness import check_work_list
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.layout import SweepDir, shard_number
from reward_profiling.sweep.progress import QUIET, Note, Progress
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
from reward_profiling.sweep.settle import (
    NO_CONSENT,
    Consent,
    Settled,
    Wanted,
    existing_shards,
    in_use,
    set_aside,
    settle,
)
from reward_profiling.sweep.sources import Source, index_sources
from reward_profiling.sweep.switch import changing, refuse_half_switched
from reward_profiling.sweep.tasks import (
    EntryPlan,
    IndexedEntry,
    build_task_table,
    pending,
    read_tasks,
    task_ranges,
    tasks_digest,
    write_tasks,
)
from reward_profiling.sweep.work_list import write_shards


@dataclass(frozen=True)
class SweepRequest:
    """A resolved manifest, as the data plane needs it. `snapshot` and `sweep_config` are the YAML texts to write."""

    nickname: str
    manifest: str
    manifest_digest: str
    snapshot: str
    sweep_config: str
    layout: Layout
    sample: SampleMode
    seed: int
    limit_per_entry: int | None
    entries: tuple[EntryPlan, ...]
    settings: tuple[SettingReport, ...]
    digest_parts: Mapping[str, str]
    meaning: Mapping[str, str]


def stage_manifest(sweep: SweepDir, request: SweepRequest) -> None:
    """Write the snapshot of the manifest and the config that Gym reads."""
    write_text(sweep.sweep_config, request.sweep_config)
    write_text(sweep.manifest, request.snapshot)


@dataclass(frozen=True)
class Effort:
    """How many processes work at a time, and who hears of it: `note` of what is done, `progress` of what goes on."""

    jobs: int = 1
    note: Note = lambda _: None
    progress: Progress = QUIET


NO_EFFORT = Effort()


def stage_tasks(
    sweep: SweepDir, request: SweepRequest, *, consent: Consent = NO_CONSENT, effort: Effort = NO_EFFORT
) -> SweepReport:
    """Index the sources and write task table and report; an existing sweep is extended.

    Raises `DatasetError` for bad data, and `RefusedError` for a change that no consent covers.
    """
    indexed = []
    sources = [Source(plan.data, plan.rule) for plan in request.entries]
    indexes = index_sources(sources, jobs=effort.jobs, progress=effort.progress)
    for plan, index in zip(request.entries, indexes, strict=True):
        indexed.append(IndexedEntry(plan, index))
        effort.note(f"{plan.label}: {index.rows.height} rows")
    table = build_task_table(indexed, request.sample, request.seed)
    moment = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    make_directory(sweep.path)
    with changing(sweep):
        refuse_half_switched(sweep)
        if consent.discard_rollouts:
            settled = Settled(table, request.meaning)
            set_aside(sweep, moment)
        else:
            settled = settle(sweep, Wanted(table, request.layout, request.meaning), consent, moment)
        _remove_surplus(sweep, request.layout.num_shards)
        digest = tasks_digest(settled.table)
        report = _report(request, indexed, settled, digest, moment)
        # The table waits under another name until the report names it: a crash in between leaves one or the other.
        write_tasks(pending(sweep.tasks), settled.table, digest)
        write_report(sweep, report)
        read_tasks(sweep.tasks, digest)
    return report


def stage_shards(
    sweep: SweepDir, numbers: Sequence[int], *, effort: Effort = NO_EFFORT
) -> Iterator[tuple[int, ShardRecord]]:
    """Write the work lists of shards, unless they are there as the task table says; yields each number and its record.

    Waits while another process changes the sweep.
    """
    with changing(sweep, wait=True):
        refuse_half_switched(sweep)
        report = read_report(sweep)
        missing = []
        for number in numbers:
            try:
                check_work_list(sweep.shard(number), report)
            except SweepError:
                missing.append(number)
            else:
                yield number, read_shard_record(sweep.shard(number))
        if missing:
            table = read_tasks(sweep.tasks, report.tasks_digest)
            records = write_shards(sweep, missing, table, report, jobs=effort.jobs, progress=effort.progress)
            yield from zip(missing, records, strict=True)


def materialize(
    request: SweepRequest, sweeps_dir: Path, *, consent: Consent = NO_CONSENT, effort: Effort = NO_EFFORT
) -> SweepReport:
    """All three stages for all shards."""
    sweep = SweepDir(sweeps_dir / request.nickname)
    report = stage_tasks(sweep, request, consent=consent, effort=effort)
    stage_manifest(sweep, request)
    for _, record in stage_shards(sweep, range(report.num_shards), effort=effort):
        effort.note(f"{record.shard}: {record.tasks} tasks, {record.rollouts} rollouts, {record.work_list_bytes} bytes")
    return report


def _remove_surplus(sweep: SweepDir, num_shards: int) -> None:
    """Remove unused shards of an earlier, larger layout, so that nobody submits them."""
    for shard in existing_shards(sweep):
        number = shard_number(shard.name)
        if number is not None and number >= num_shards and not in_use(shard):
            shutil.rmtree(shard.path)


def _report(
    request: SweepRequest, indexed: list[IndexedEntry], settled: Settled, digest: str, moment: str
) -> SweepReport:
    ranges = task_ranges(settled.table)
    return SweepReport(
        nickname=request.nickname,
        manifest=request.manifest,
        manifest_digest=request.manifest_digest,
        tasks_digest=digest,
        num_shards=request.layout.num_shards,
        deal=request.layout.deal,
        shuffle=request.layout.shuffle,
        sample=request.sample,
        seed=request.seed,
        limit_per_entry=request.limit_per_entry,
        materialized_at=moment,
        entries=tuple(_entry_report(entry, ranges[entry.plan.label]) for entry in indexed),
        settings=request.settings,
        digest_parts=dict(request.digest_parts),
        meaning=dict(settled.meaning),
        mixed=settled.mixed,
    )


def _entry_report(entry: IndexedEntry, task_range: tuple[int, int]) -> EntryReport:
    plan, (first, end) = entry.plan, task_range
    return EntryReport(
        label=plan.label,
        agent=plan.agent_ref_override or plan.agent,
        owner=plan.owner,
        data=str(plan.data),
        data_size=entry.index.size,
        data_modified_ns=entry.index.modified_ns,
        rows=entry.index.rows.height,
        tasks=end - first,
        repeats=plan.repeats,
        limit=plan.limit,
        pass_threshold=plan.pass_threshold,
        task_index_range=(first, end),
    )
