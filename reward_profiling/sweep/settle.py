"""May this sweep become that one? What is there decides, and what a person has agreed to.

Promise: tasks that have rollouts or attempts keep their numbers, their shards and their meaning, or the change is
refused with what differs and the ways out. Nothing collected is deleted; discarding sets it aside under `snapshots/`.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from reward_profiling.errors import RefusedError, SweepError
from reward_profiling.manifest.meaning import changed
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.deal import Layout, with_first_row
from reward_profiling.sweep.extend import Extension, extend
from reward_profiling.sweep.layout import ShardDir, SweepDir, shard_number
from reward_profiling.sweep.report import MixedChange, SweepReport, read_report, write_report
from reward_profiling.sweep.snapshots import snapshot_name, write_record
from reward_profiling.sweep.tasks import read_tasks

_WAYS_OUT = "give the manifest a new nickname, or pass --discard-rollouts to set them aside"


@dataclass(frozen=True)
class Consent:
    """What a person has agreed to: to replace a sweep that has no rollouts, to set rollouts aside, or to go on although
    the rollouts to come mean something else than those that are there."""

    overwrite: bool = False
    discard_rollouts: bool = False
    accept_mixed: bool = False


NO_CONSENT = Consent()


@dataclass(frozen=True)
class Wanted:
    """The sweep that a manifest asks for: its task table as if nothing were there, its layout, its meaning."""

    table: pl.DataFrame
    layout: Layout
    meaning: Mapping[str, str]


@dataclass(frozen=True)
class Settled:
    """The task table to write, the meaning of its rollouts, and the accepted changes of it so far."""

    table: pl.DataFrame
    meaning: Mapping[str, str]
    mixed: tuple[MixedChange, ...] = ()


def existing_shards(sweep: SweepDir) -> list[ShardDir]:
    """The shard directories that are there, in order."""
    if not sweep.shards.is_dir():
        return []
    shards = [ShardDir(path) for path in sweep.shards.iterdir() if shard_number(path.name) is not None]
    return sorted(shards, key=lambda shard: shard_number(shard.name) or 0)


def in_use(shard: ShardDir) -> bool:
    """Whether anything was collected or submitted for a shard."""
    paths = (shard.rollouts, shard.failures, shard.attempts)
    return any(path.exists() and path.stat().st_size > 0 for path in paths)


def used_shards(sweep: SweepDir) -> list[str]:
    """Names of the shards in use."""
    return [shard.name for shard in existing_shards(sweep) if in_use(shard)]


def set_aside(sweep: SweepDir, moment: str) -> None:
    """Move all shards, and a copy of what describes them, to `snapshots/<moment>`."""
    if not used_shards(sweep):
        return
    snapshot = sweep.snapshots / snapshot_name(sweep, moment)
    snapshot.mkdir(parents=True)
    write_record(snapshot, "discard", moment)
    for path in (sweep.report, sweep.tasks, sweep.manifest):
        if path.exists():
            shutil.copy2(path, snapshot / path.name)
    sweep.shards.rename(snapshot / sweep.shards.name)


def settle(sweep: SweepDir, wanted: Wanted, consent: Consent, moment: str) -> Settled:
    """Decide what becomes of an existing sweep; raises `RefusedError` when no consent covers the change."""
    used = used_shards(sweep)
    old = _existing(sweep, ignore_damage=consent.overwrite and not used)
    if old is None:
        return Settled(wanted.table, wanted.meaning)
    table = read_tasks(sweep.tasks, old.tasks_digest)
    extension = extend(table, wanted.table)
    difference = _difference(table, extension, old.layout, wanted.layout)
    if extension.table is None or difference:
        redealt = extension.table is not None and old.num_shards != wanted.layout.num_shards
        cure = _to_reshard(sweep, old.num_shards, wanted.layout.num_shards) if redealt else _WAYS_OUT
        _refuse_other(sweep, difference, used, consent, cure)
        return Settled(wanted.table, wanted.meaning)
    parts = changed(old.meaning, wanted.meaning) if used else []
    known = {**old.meaning, **{name: value for name, value in wanted.meaning.items() if value}}
    if not parts:
        return Settled(extension.table, known, old.mixed)
    if not consent.accept_mixed:
        raise RefusedError(
            f"the manifest changes what a rollout means ({', '.join(parts)}), and {used[0]} has rollouts or attempts",
            place=str(sweep.path),
            cure=f"{_WAYS_OUT}, or --accept-mixed to profile old and new together, marked as mixed",
        )
    return Settled(extension.table, known, (*old.mixed, MixedChange(at=moment, parts=tuple(parts))))


def agree_on_meaning(plan: Plan, now: Mapping[str, str]) -> None:
    """Refuse to collect rollouts that mean something else than those that are there; `now` is what they would mean.

    Before the first rollout the report takes over what is new or changed, so that lineage tells what was run.
    """
    sweep, report = plan.sweep, plan.report
    used = used_shards(sweep)
    parts = changed(report.meaning, now)
    if used and parts:
        raise RefusedError(
            f"these rollouts would mean something else than those of {used[0]} ({', '.join(parts)})",
            place=str(sweep.path),
            cure="undo the change, or materialize again under a new nickname or with --accept-mixed",
        )
    known = {**report.meaning, **{name: value for name, value in now.items() if value}}
    if known != report.meaning:
        write_report(sweep, report.model_copy(update={"meaning": known}))


def _existing(sweep: SweepDir, *, ignore_damage: bool) -> SweepReport | None:
    if not sweep.report.exists():
        if used_shards(sweep):
            raise SweepError(
                "there are rollouts here, but no report that says of what",
                place=str(sweep.report),
                cure="restore it, or move this directory away",
            )
        return None
    try:
        report = read_report(sweep)
        read_tasks(sweep.tasks, report.tasks_digest)
    except SweepError:
        if ignore_damage:
            return None
        raise
    return report


def _difference(table: pl.DataFrame, extension: Extension, old: Layout, new: Layout) -> str:
    """What would renumber tasks of `table` or give their rollouts to other shards; empty when nothing would."""
    if extension.table is None:
        return f"the manifest would renumber tasks: {'; '.join(extension.conflicts)}"
    if old.num_shards != new.num_shards:
        return f"the manifest changes the number of shards from {old.num_shards} to {new.num_shards}"
    if old.deal != new.deal:
        return f"the manifest changes materialize.deal from {old.deal} to {new.deal}"
    before, after = with_first_row(table)["first_row"], with_first_row(extension.table)["first_row"].head(table.height)
    if new.deal == "row" and not before.equals(after):
        return "more repeats would deal the rows of later tasks to other shards (materialize.deal: row)"
    return ""


def _to_reshard(sweep: SweepDir, before: int, after: int) -> str:
    command = f"reward-profiling reshard {sweep.path} --num-shards {after}"
    return f"`{command}` carries them along, or say num_shards: {before} in the manifest"


def _refuse_other(sweep: SweepDir, difference: str, used: list[str], consent: Consent, cure: str) -> None:
    if used:
        raise RefusedError(
            f"{difference}; {used[0]} has rollouts or attempts already", place=str(sweep.path), cure=cure
        )
    if not consent.overwrite:
        raise RefusedError(
            f"{difference}; this sweep is here already", place=str(sweep.path), cure="pass --overwrite to replace it"
        )
