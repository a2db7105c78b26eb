"""Whatever is done to a sweep in whatever order, each rollout stays once, where it belongs, byte for byte.

The model keeps lines by key, from what was appended; it knows neither shards nor index.
"""

import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from reward_profiling.sweep.check import check_sweep
from reward_profiling.sweep.completeness import Plan, load_plan, look
from reward_profiling.sweep.deal import Layout, keys_of
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.materialize import materialize
from reward_profiling.sweep.merge import merge
from reward_profiling.sweep.repair import repair
from reward_profiling.sweep.reshard import reshard
from reward_profiling.sweep.split import split
from reward_profiling.sweep.switch import changing
from reward_profiling_tests.collected import holds, sweep_holds
from reward_profiling_tests.memory import memory
from reward_profiling_tests.sweeps import Key, append, entry, failure, keys_of_shard, request, rollout

NUMBER = st.integers(0, 999)


class Layouts(RuleBasedStateMachine):
    """A sweep that is collected, extended, resharded, merged and split."""

    @initialize(deal=st.sampled_from(["task", "row"]), shuffle=st.none() | st.integers(0, 9))
    def start(self, deal: str, shuffle: int | None) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=memory()))
        self.layout = Layout(num_shards=4, deal=deal, shuffle=shuffle)
        self.labels, self.repeats = ["alpha", "beta"], 2
        self.rollouts: dict[Key, bytes] = {}
        self.failures: dict[Key, list[bytes]] = defaultdict(list)
        self.materialize()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    @property
    def plan(self) -> Plan:
        return load_plan(SweepDir(self.folder / "sweeps" / "tiny"), {})

    def materialize(self) -> None:
        entries = [entry(self.folder, label, 3, self.repeats) for label in self.labels]
        materialize(request(entries, layout=self.layout), self.folder / "sweeps")

    def shard(self, number: int) -> tuple[ShardDir, list[Key]]:
        """A shard that has work, repaired as before a job, and its keys."""
        plan = self.plan
        numbers = [n for n in range(plan.report.num_shards) if keys_of_shard(plan.sweep.shard(n))]
        chosen = numbers[number % len(numbers)]
        shard = plan.sweep.shard(chosen)
        repair(shard, keys_of(plan.shard_tasks(chosen)))
        return shard, keys_of_shard(shard)

    @rule(number=NUMBER, most=st.integers(1, 4), masked=st.booleans())
    def collect(self, number: int, most: int, masked: bool) -> None:
        shard, keys = self.shard(number)
        for key in [key for key in keys if key not in self.rollouts][:most]:
            line = rollout(key, number / 10, mask_sample=masked)
            append(shard.rollouts, line)
            self.rollouts[key] = line[:-1]

    @rule(number=NUMBER, final=st.booleans())
    def fail(self, number: int, final: bool) -> None:
        shard, keys = self.shard(number)
        key = keys[number % len(keys)]
        line = failure(key, _ng_failure_terminal=final)
        append(shard.failures, line)
        self.failures[key].append(line[:-1])

    @rule(number=NUMBER, cut=st.integers(2, 90))
    def tear(self, number: int, cut: int) -> None:
        shard, keys = self.shard(number)
        append(shard.rollouts, rollout(keys[0])[:-cut])

    @rule(label=st.booleans())
    def extend(self, label: bool) -> None:
        if label and len(self.labels) < 4:
            self.labels = [*self.labels, f"label{len(self.labels)}"]
        elif self.layout.deal == "task":
            self.repeats += 1
        self.materialize()

    @rule(num_shards=st.integers(1, 9))
    def reshard(self, num_shards: int) -> None:
        plan = self.plan
        with changing(plan.sweep):
            reshard(plan, num_shards, lambda before, after: None, lambda line: None)
        self.layout = self.layout.model_copy(update={"num_shards": num_shards})

    @rule()
    def merge(self) -> None:
        made = merge(self.plan, self.folder / "all.jsonl")
        found = holds([made.rollouts], [made.failures])
        assert (found.rollouts, found.failures, found.repeated) == (self.rollouts, dict(self.failures), 0)

    @rule()
    def split(self) -> None:
        made = split(self.plan, self.folder / "by_label")
        for entry_ in self.plan.report.entries:
            part = ShardDir(made.folders[entry_.label])
            own = range(*entry_.task_index_range)
            found = holds([part.rollouts], [part.failures])
            assert found.rollouts == {key: line for key, line in self.rollouts.items() if key[0] in own}
            assert found.failures == {key: line for key, line in self.failures.items() if key[0] in own}
            assert sorted(keys_of_shard(part)) == [(task, n) for task in own for n in range(self.repeats)]

    @rule(number=NUMBER)
    def forget_an_index(self, number: int) -> None:
        shard, _ = self.shard(number)
        shutil.rmtree(shard.index, ignore_errors=True)

    @invariant()
    def everything_is_there_and_adds_up(self) -> None:
        if not hasattr(self, "folder"):
            return
        plan = self.plan
        found = sweep_holds(plan)
        assert (found.rollouts, found.failures, found.repeated) == (self.rollouts, dict(self.failures), 0)
        every = {(task, n) for task in range(3 * len(self.labels)) for n in range(self.repeats)}
        gated = {
            key
            for key, lines in self.failures.items()
            if len(lines) >= 3 or any(b'"_ng_failure_terminal":true' in line for line in lines)
        }
        statuses = [look(plan, number) for number in range(plan.report.num_shards)]
        owed = sum(status.counts.outstanding for status in statuses)
        assert owed == len(every - self.rollouts.keys() - gated)
        assert [finding for check in check_sweep(plan) for finding in check.findings] == []


TestLayouts = Layouts.TestCase
TestLayouts.settings = settings(max_examples=20, stateful_step_count=15, deadline=None, derandomize=True)
