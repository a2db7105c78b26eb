"""Dealing a sweep anew over another number of shards, with everything that was collected.

Promise: every rollout and every failed attempt is carried to the shard that now owns its key, with its exact bytes; the
old layout becomes a snapshot. Killed at any instant, either layout is whole, and running it again finishes. Nothing may
run on the sweep meanwhile: call it while `switch.changing`, and when every shard is held.
"""

import datetime
import shutil
from collections.abc import Callable
from dataclasses import replace

from reward_profiling.errors import BadInputError
from reward_profiling.files import storage_error
from reward_profiling.sweep.carry import carry_rows, carry_work_lists, dealt_keys, shards_of
from reward_profiling.sweep.completeness import Plan, check_work_list
from reward_profiling.sweep.deal import keys_of
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.repair import repair
from reward_profiling.sweep.report import SettingReport, SweepReport, read_report, write_report
from reward_profiling.sweep.snapshots import snapshot_name, write_record
from reward_profiling.sweep.switch import Journal, switch, waiting_snapshot

CarryLedgers = Callable[[Plan, Plan], None]
"""Writes what the new shards must know of the old shards' attempts, given the old plan and the new one."""

_REPRODUCIBLE = ("shards/*/rollouts_materialized_inputs.jsonl", "shards/*/rollout_index", "shards/*/.*")


def reshard(plan: Plan, num_shards: int, carry_ledgers: CarryLedgers, note: Callable[[str], None]) -> SweepReport:
    """Deal the sweep of `plan` over `num_shards` shards; returns the new report.

    Raises `SweepError` when a work list is damaged, `StorageError` when the disk refuses: then nothing has changed.
    """
    if num_shards < 1:
        raise BadInputError(f"{num_shards} shards are none", place="--num-shards", cure="give 1 or more")
    if num_shards == plan.report.num_shards:
        return plan.report
    sweep = plan.sweep
    moment = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    after = replace(plan, sweep=sweep.next, report=_dealt_over(plan.report, num_shards))
    try:
        _fold(plan, note)
        note(f"dealing over {num_shards} shards")
        _build(plan, after, moment)
        carry_ledgers(plan, after)
    except BaseException:
        shutil.rmtree(sweep.next.path, ignore_errors=True)
        raise
    journal = Journal(
        command=f"reward-profiling reshard {sweep.path} --num-shards {num_shards}",
        snapshot=snapshot_name(sweep, moment),
        displaced=(sweep.shards.name,),
        placed=(sweep.shards.name, sweep.report.name),
        discarded=_REPRODUCIBLE,
    )
    write_report(sweep.next, _dealt_over(read_report(sweep), num_shards))
    switch(sweep, journal)
    note(f"the old layout is in {sweep.snapshots / journal.snapshot}")
    return read_report(sweep)


def _fold(plan: Plan, note: Callable[[str], None]) -> None:
    for number, shard in enumerate(shards_of(plan)):
        check_work_list(shard, plan.report)
        taken = repair(shard, keys_of(plan.shard_tasks(number)))
        if taken.rejected:
            note(f"{shard.name}: {taken.rejected} lines moved to {shard.rejected.name}")


def _build(plan: Plan, after: Plan, moment: str) -> None:
    sweep = plan.sweep
    keys = dealt_keys(plan, after)
    carry_work_lists(plan, after, keys)
    carry_rows(plan, after, keys)
    _prepare_snapshot(sweep, moment, plan.report, after.report)


def _prepare_snapshot(sweep: SweepDir, moment: str, before: SweepReport, after: SweepReport) -> None:
    snapshot = waiting_snapshot(sweep)
    try:
        snapshot.mkdir()
        for path in (sweep.report, sweep.tasks, sweep.manifest, sweep.sweep_config):
            if path.exists():
                shutil.copy2(path, snapshot / path.name)
    except OSError as error:
        raise storage_error(snapshot, error) from error
    write_record(snapshot, "reshard", moment, num_shards=before.num_shards, became=after.num_shards)


def _dealt_over(report: SweepReport, num_shards: int) -> SweepReport:
    settings = tuple(
        SettingReport(name=each.name, value=num_shards, origin="reshard") if each.name == "num_shards" else each
        for each in report.settings
    )
    return report.model_copy(update={"num_shards": num_shards, "settings": settings})
