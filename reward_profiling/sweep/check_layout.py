"""Do report, task table and shards tell the same story?"""

import polars as pl

from reward_profiling.errors import RewardProfilingError
from reward_profiling.sweep.completeness import Plan, check_work_list
from reward_profiling.sweep.deal import keys_of
from reward_profiling.sweep.findings import Check
from reward_profiling.sweep.layout import shard_number
from reward_profiling.sweep.report import EntryReport, read_shard_record
from reward_profiling.sweep.tasks import tasks_digest


def check_labels(plan: Plan) -> Check:
    """The task table is the report's, and each label's tasks fill its range."""
    made = Check("labels", "every label's tasks fill its range of task indices, as the report says")
    table, report = plan.tasks, plan.report
    made.expect(tasks_digest(table) == report.tasks_digest, plan.sweep.tasks, "its rows are not those of its digest")
    made.expect(
        table["task_index"].to_list() == sorted(set(table["task_index"])), plan.sweep.tasks, "indices repeat or jump"
    )
    labels = [entry.label for entry in report.entries]
    made.expect(len(set(labels)) == len(labels), plan.sweep.report, "a label appears twice")
    made.expect(set(table["label"]) == set(labels), plan.sweep.tasks, "its labels are not those of the report")
    for entry in report.entries:
        _check_entry(made, entry, table.filter(label=entry.label))
    made.expect(table.height == report.tasks, plan.sweep.report, f"says {report.tasks} tasks, there are {table.height}")
    return made


def _check_entry(made: Check, entry: EntryReport, tasks: pl.DataFrame) -> None:
    first, end = entry.task_index_range
    made.expect(
        tasks["task_index"].to_list() == list(range(first, end)), entry.label, f"its tasks do not fill {first} to {end}"
    )
    made.expect(entry.tasks == tasks.height, entry.label, f"the report says {entry.tasks} tasks, not {tasks.height}")
    for column, value in (("repeats", entry.repeats), ("agent", entry.agent)):
        made.expect(set(tasks[column]) == {value}, entry.label, f"{column} are not all {value}")


def check_shards(plan: Plan) -> Check:
    """All shards are there as they were written, and no other."""
    made = Check("shards", "every shard is there as it was written, and no other")
    numbers = range(plan.report.num_shards)
    for path in sorted(plan.sweep.shards.glob("shard_*")):
        # A folder with an index and nothing else is what a reader left who came too late.
        if shard_number(path.name) not in numbers and any(path.glob("*.json*")):
            made.find(path, f"the tasks are dealt over {len(numbers)} shards")
    rollouts = 0
    for number in numbers:
        shard = plan.sweep.shard(number)
        made.look()
        try:
            check_work_list(shard, plan.report)
        except RewardProfilingError as error:
            made.find(error.place, error.problem)
            continue
        record, keys = read_shard_record(shard), keys_of(plan.shard_tasks(number))
        rollouts += keys.height
        counted = (keys["task_index"].n_unique(), keys.height)
        made.expect((record.tasks, record.rollouts) == counted, shard.record, f"counts are not {counted}")
    if made.ok:
        expected = plan.report.rollouts
        made.expect(rollouts == expected, plan.sweep.report, f"says {expected} rollouts, the shards own {rollouts}")
    return made
