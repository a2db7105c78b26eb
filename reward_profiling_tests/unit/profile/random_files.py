"""Random work lists and rollout files with every oddity that the profile has a rule for, from a seed."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

Row = dict[str, Any]

_FIELDS = ("score", "b", "a", "max", "p25", "x/max", "foo_ci_lower", "_hidden", "total_tokens", "rollout_id", "ü")
_USAGE_FIELDS = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "_cached",
    "score",
    "reward",
    "mask_sample",
    "response",
)
_CHOICES = (0.1, 0.2, 0.3, 0.7, 1.0, -2.5, -0.0, 0.0)


@dataclass(frozen=True)
class RandomFiles:
    work: list[Row]
    rollouts: list[Row]

    def write(self, directory: Path) -> tuple[Path, Path]:
        """Write both files; returns the paths of the work list and the rollouts."""
        directory.mkdir(parents=True, exist_ok=True)
        paths = directory / "rollouts_materialized_inputs.jsonl", directory / "rollouts.jsonl"
        for path, rows in zip(paths, (self.work, self.rollouts), strict=True):
            path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
        return paths


def random_files(seed: int, *, tasks: int = 40) -> RandomFiles:
    """Files that NeMo Gym profiles with partial results allowed; what kind of oddities they have goes by the seed."""
    source = _Source(random.Random(seed))
    work, rollouts = [], []
    for task in sorted(source.rng.sample(range(3 * tasks), tasks)):
        agents = source.agents_of_task()
        for rollout in source.repeats():
            identity = {"_ng_task_index": task, "_ng_rollout_index": rollout}
            work.append({"question": f"q{task}", **source.reference(agents), **identity})
            if source.rng.random() >= source.missing:
                rollouts.append({**source.result(), **identity})
    if source.shuffled:
        source.rng.shuffle(work)
        source.rng.shuffle(rollouts)
    return RandomFiles(work, rollouts)


class _Source:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.shuffled = rng.random() < 0.7
        self.missing = rng.choice([0.0, 0.0, 0.2, 0.7])
        self.masked = rng.choice([0.0, 0.0, 0.1, 0.6])
        self.gap = rng.choice([0.0, 0.3, 0.8])
        self.oddity = rng.choice([0.0, 0.1])
        self.integers = rng.random() < 0.3
        self.largest_group = rng.choice([1, 2, 4, 9, 20])
        self.even_groups = rng.random() < 0.4
        self.fan_out = rng.random() < 0.4
        self.unlabelled = rng.choice([0.0, 0.0, 0.2])
        self.agents = [f"agent_{name}" for name in rng.sample("abcde", rng.choice([1, 2, 4]))]
        self.servers = rng.choice([[], [], ["one", "two", "agent_a"]])
        self.fields = rng.sample(_FIELDS, rng.choice([0, 1, 3, 6]))
        self.usage = rng.sample(_USAGE_FIELDS, rng.choice([0, 3, 5]))

    def agents_of_task(self) -> list[str]:
        return self.agents if self.fan_out else [self.rng.choice(self.agents)]

    def repeats(self) -> list[int]:
        if self.even_groups:
            return list(range(self.largest_group))
        return sorted(self.rng.sample(range(self.largest_group + 2), self.rng.randint(1, self.largest_group)))

    def reference(self, agents: list[str]) -> Row:
        row: Row = {}
        if self.rng.random() >= self.unlabelled:
            row["agent_ref"] = {"type": "responses_api_agents", "name": self.rng.choice(agents)}
        if self.servers and self.rng.random() < 0.8:
            row["_ng_environment_server"] = self.rng.choice(self.servers)
        return row

    def result(self) -> Row:
        row: Row = {"responses_create_params": {"input": []}}
        if self.rng.random() >= self.gap / 2:
            row["reward"] = self.value()
        row |= {name: self.value() for name in self.fields if self.rng.random() >= self.gap}
        if self.rng.random() < self.masked or self.rng.random() < 0.1:
            row["mask_sample"] = self.rng.random() < self.masked
        row["response"] = self.response()
        if self.rng.random() < 0.3:
            row = dict(self.rng.sample(list(row.items()), len(row)))
        return row

    def response(self) -> Any:
        if self.rng.random() < 0.1:
            return None
        usage = {name: self.value() for name in self.usage if self.rng.random() >= self.gap}
        return {"output": [], "usage": self.rng.choice([usage, usage, usage, None])}

    def value(self) -> Any:
        if self.rng.random() < self.oddity:
            return self.rng.choice(["text", "1.0", None, [1.0], {"a": 1}, True, False])
        if self.integers:
            return self.rng.choice([self.rng.randint(-5, 5), self.rng.randint(0, 30_000), 1, True])
        kind = self.rng.random()
        if kind < 0.4:
            return self.rng.choice(_CHOICES)
        if kind < 0.6:
            return self.rng.randint(-3, 3)
        if kind < 0.8:
            return round(self.rng.uniform(-5, 5), 3)
        return self.rng.uniform(-1, 1) * 10.0 ** self.rng.randint(-3, 6)
