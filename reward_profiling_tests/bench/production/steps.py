"""The steps of a sweep with the counts of a real one, each given the directory of the benchmark."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import orjson

from reward_profiling.launch.overview import document, overview
from reward_profiling.simulate.collect import Collector, Options
from reward_profiling.simulate.outputs import Done, Outputs
from reward_profiling.simulate.steering import Steering
from reward_profiling_tests.bench.plane import data
from reward_profiling_tests.bench.plane.steps import load_size

_STEERING = Steering(masked_rate=0.01, terminal_rate=0.005)


def write_datasets(directory: Path) -> int:
    """Short rows; the entries differ in size as those of a real blend do. Tasks in all."""
    size = load_size(directory)
    counts = tasks_of_entries(size)
    for number, count in enumerate(counts):
        agent = {"type": "responses_api_agents", "name": f"agent_{number}"}
        with data.dataset(directory, number).open("wb") as stream:
            for row in range(count):
                content = f"{number}: what is {row} times {row + 1}, and why does it matter that the answer is even?"
                parameters = {"input": [{"role": "user", "content": content}]}
                made = {"responses_create_params": parameters, "agent_ref": agent, "expected_answer": row * (row + 1)}
                stream.write(orjson.dumps(made, option=orjson.OPT_APPEND_NEWLINE))
    return sum(counts)


def tasks_of_entries(size: data.Size) -> list[int]:
    """How many tasks each entry has; `size.tasks` is how many all have."""
    shares = [1 + number % 7 for number in range(size.entries)]
    counts = [size.tasks * share // sum(shares) for share in shares]
    counts[0] += size.tasks - sum(counts)
    return counts


def collect(directory: Path) -> int:
    """A simulated collection of every shard, as many at a time as there are processors. Bytes of rollouts."""
    plan = data.plan(directory)
    shards = [plan.sweep.shard(number) for number in range(plan.report.num_shards)]
    servers = {entry.agent: f"{entry.agent}_environment_server" for entry in plan.report.entries}
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for future in [pool.submit(_collect_one, shard.rollouts, servers) for shard in shards]:
            assert future.result() == 0
    return sum(shard.rollouts.stat().st_size for shard in shards)


def _collect_one(rollouts: Path, servers: dict[str, str]) -> int:
    return Collector(Outputs(rollouts), Done(), servers, Options(tolerate_foreign=True), _STEERING).run()


def look(directory: Path) -> dict[str, int]:
    """The counts of the sweep, as `reward-profiling status` shows them."""
    counts = document(overview(data.plan(directory)))
    return {name: counts[name] for name in ("expected", "succeeded", "masked", "outstanding")}
