"""Does every key have one work-list line, in its shard, with the bytes, the agent and the label of its task?"""

import os
from collections.abc import Iterator
from typing import Any

import orjson

from reward_profiling.files import storage_error
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.deal import keys_of
from reward_profiling.sweep.findings import Check, some
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.row_lines import row_key
from reward_profiling.sweep.rows import RowRule, encode_again
from reward_profiling.sweep.sources import content_hash

Task = dict[str, Any]
_END = b"}\n"


def check_work_lists(plan: Plan) -> Check:
    """Read every work list. Rows that were encoded again are compared with their dataset where that is still there."""
    made = Check("work lists", "they partition the rollouts, each line with its task's bytes, agent and label")
    for number in range(plan.report.num_shards):
        shard, tasks = plan.sweep.shard(number), plan.shard_tasks(number)
        owed = set(keys_of(tasks).select("task_index", "rollout_index").iter_rows())
        expected = len(owed)
        by_index = {task["task_index"]: task for task in tasks.iter_rows(named=True)}
        bodies: dict[int, bytes] = {}
        for line_number, line in _lines(shard):
            made.look()
            key = _key(line)
            if key not in owed:
                made.find(f"{shard.work_list}:{line_number}", f"key {key} is foreign, or there already")
                continue
            owed.remove(key)
            problem = _problem(line, key, by_index[key[0]], bodies)
            if problem:
                made.find(f"{shard.work_list}:{line_number}", problem)
        if owed:
            made.find(shard.work_list, f"{len(owed)} of {expected} keys are missing: {some(sorted(owed), len(owed))}")
    return made


def _lines(shard: ShardDir) -> Iterator[tuple[int, bytes]]:
    if not shard.work_list.exists():
        return
    try:
        with shard.work_list.open("rb", buffering=1 << 20) as stream:
            yield from enumerate(stream, start=1)
    except OSError as error:
        raise storage_error(shard.work_list, error) from error


def _key(line: bytes) -> tuple[int, int] | None:
    """The key at the top level of a line."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row_key(row) if isinstance(row, dict) else None


def _problem(line: bytes, key: tuple[int, int], task: Task, bodies: dict[int, bytes]) -> str | None:
    """What is wrong with the line of a key; `bodies` remembers the body of the task that was checked last."""
    label = orjson.dumps(task["label"])
    end = b',"_ng_sweep_label":%b,"_ng_task_index":%d,"_ng_rollout_index":%d}\n' % (label, *key)
    if not line.endswith(end):
        return f"its keys are not those of rollout {key[1]} of task {key[0]} of {task['label']}"
    body = line[: -len(end)] + b"}"
    if bodies.get(key[0]) == body:
        return None
    if orjson.loads(body)["agent_ref"]["name"] != task["agent"]:
        return f"it is not for agent {task['agent']}"
    expected = _expected_hash(task)
    if expected is not None and content_hash(body) != expected:
        return f"its bytes are not those of task {key[0]}"
    bodies.clear()
    bodies[key[0]] = body
    return None


def _expected_hash(task: Task) -> str | None:
    """The hash of a task's row as it goes into the work list; None when that cannot be known any more."""
    if task["verbatim"]:
        return str(task["content_hash"])
    try:
        descriptor = os.open(task["source"], os.O_RDONLY)
    except OSError:
        return None
    try:
        row = os.pread(descriptor, task["byte_length"], task["byte_offset"])
    finally:
        os.close(descriptor)
    return (
        content_hash(encode_again(row, RowRule(task["agent"]))) if content_hash(row) == task["content_hash"] else None
    )
