"""Partly collected sweeps for tests, and what a sweep holds, read line by line without any code of the package's."""

import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import orjson

from reward_profiling.sweep.completeness import Plan
from reward_profiling_tests.sweeps import Key, append, failure, keys_of_shard, rollout

CLASSES = ("agent_run_error", "timeout_exceeded", "skipped")


def collect_some(plan: Plan, seed: int, share: float = 0.5) -> None:
    """Let a collector pass over every shard: some of what is owed succeeds, some fails, some is left."""
    dice = random.Random(seed)
    for number in range(plan.report.num_shards):
        shard = plan.sweep.shard(number)
        done = set(holds([shard.rollouts]).rollouts)
        keys = [key for key in keys_of_shard(shard) if key not in done]
        dice.shuffle(keys)
        for key in keys:
            fate = dice.random()
            if fate < share:
                append(shard.rollouts, rollout(key, round(dice.random(), 3), mask_sample=dice.random() < 0.1))
            elif fate < share + 0.2:
                append(shard.failures, failure(key, dice.choice(CLASSES), _ng_failure_terminal=dice.random() < 0.3))


@dataclass(frozen=True)
class Holdings:
    """The first rollout line of each key, and all failed attempts of each key in their order."""

    rollouts: dict[Key, bytes]
    failures: dict[Key, list[bytes]]
    repeated: int


def holds(rollouts: list[Path], failures: list[Path] | None = None) -> Holdings:
    """What lies in the given files."""
    found: dict[Key, bytes] = {}
    failed: dict[Key, list[bytes]] = defaultdict(list)
    repeated = 0
    for path in rollouts:
        for key, line in _keyed(path):
            repeated += key in found
            found.setdefault(key, line)
    for path in failures or []:
        for key, line in _keyed(path):
            failed[key].append(line)
    return Holdings(found, dict(failed), repeated)


def sweep_holds(plan: Plan) -> Holdings:
    """What lies in all shards of a sweep."""
    shards = [plan.sweep.shard(number) for number in range(plan.report.num_shards)]
    return holds([shard.rollouts for shard in shards], [shard.failures for shard in shards])


def _keyed(path: Path) -> list[tuple[Key, bytes]]:
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    rows = []
    for line in lines:
        try:
            row = orjson.loads(line)
            rows.append(((row["_ng_task_index"], row["_ng_rollout_index"]), line))
        except (orjson.JSONDecodeError, KeyError):
            continue
    return rows
