"""Small sweeps for tests: datasets, a materialized sweep directory, and rows as NeMo Gym would append them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from reward_profiling.sweep.completeness import Plan, load_plan
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.materialize import SweepRequest, materialize
from reward_profiling.sweep.tasks import EntryPlan

Key = tuple[int, int]


def source_row(label: str, number: int, agent: str = "agent_a") -> dict[str, Any]:
    """One row of a dataset."""
    content = [{"role": "user", "content": f"{label} question {number}"}]
    return {
        "responses_create_params": {"input": content},
        "agent_ref": {"type": "responses_api_agents", "name": agent},
        "expected_answer": number,
    }


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    """A JSON Lines file; bytes go in as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(row if isinstance(row, bytes) else orjson.dumps(row) + b"\n" for row in rows))
    return path


def entry(folder: Path, label: str, tasks: int, repeats: int = 2, agent: str = "agent_a", **plan: Any) -> EntryPlan:
    """An entry with a dataset of its own."""
    data = write_rows(folder / f"{label}.jsonl", (source_row(label, number, agent) for number in range(tasks)))
    return EntryPlan(label=label, agent=agent, data=data, repeats=repeats, **plan)


def request(entries: Sequence[EntryPlan], num_shards: int = 2, nickname: str = "tiny", **changes: Any) -> SweepRequest:
    """A request for a sweep of `entries`."""
    values: dict[str, Any] = {
        "nickname": nickname,
        "manifest": "tiny.yaml",
        "manifest_digest": "sha256:0",
        "snapshot": f"nickname: {nickname}\n",
        "sweep_config": "config_paths: []\n",
        "layout": Layout(num_shards=num_shards),
        "sample": "head",
        "seed": 0,
        "limit_per_entry": None,
        "entries": tuple(entries),
        "settings": (),
        "digest_parts": {},
        "meaning": {"model": "a"},
    }
    return SweepRequest(**(values | changes))


def tiny_plan(folder: Path, tasks: int = 3, repeats: int = 2, num_shards: int = 2) -> Plan:
    """A materialized sweep of two entries, `alpha` and `beta`, `tasks` tasks each."""
    entries = [entry(folder / "data", "alpha", tasks, repeats), entry(folder / "data", "beta", tasks, repeats)]
    materialize(request(entries, num_shards), folder / "sweeps")
    return load_plan(SweepDir(folder / "sweeps" / "tiny"), {})


def work_list(shard: ShardDir) -> list[dict[str, Any]]:
    """The work list of a shard, parsed."""
    return [orjson.loads(line) for line in shard.work_list.read_bytes().splitlines()]


def keys_of_shard(shard: ShardDir) -> list[Key]:
    """The keys of a shard's work list, in order."""
    return [(row["_ng_task_index"], row["_ng_rollout_index"]) for row in work_list(shard)]


def rollout(key: Key, reward: float = 1.0, **extra: Any) -> bytes:
    """A success line."""
    return _line(key, {"response": {"usage": {"output_tokens": 3}}, "reward": reward} | extra)


def failure(key: Key, kind: str = "agent_run_error", **extra: Any) -> bytes:
    """A line of the failures sidecar."""
    return _line(key, {"_ng_failure_class": kind} | extra)


def _line(key: Key, row: dict[str, Any]) -> bytes:
    return orjson.dumps(row | {"_ng_task_index": key[0], "_ng_rollout_index": key[1]}) + b"\n"


def append(path: Path, *lines: bytes) -> None:
    """Append bytes, as a collector does."""
    with path.open("ab") as stream:
        stream.writelines(lines)
