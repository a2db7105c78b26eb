"""Whatever a collector does to its files, in whatever order, the counts stay Gym's own and nothing is lost.

The model keeps the bytes as Gym would see them and judges them from scratch, without index, Polars or increments.
"""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import orjson
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reward_profiling.sweep.completeness import load_plan, look, outstanding
from reward_profiling.sweep.deal import keys_of
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.materialize import materialize
from reward_profiling.sweep.repair import repair
from reward_profiling_tests.sweeps import append, entry, failure, keys_of_shard, request, rollout

CLASSES = ("agent_run_error", "timeout_exceeded", "skipped")


def _rows(path: Path) -> list[dict]:
    rows = []
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        rows.append(row)
    return rows


def _key(row: dict) -> tuple[int, int]:
    return row["_ng_task_index"], row["_ng_rollout_index"]


class Collecting(RuleBasedStateMachine):
    """One shard under a collector that succeeds, fails, repeats itself, is torn and repaired."""

    @initialize(tasks=st.integers(1, 5), repeats=st.integers(1, 3), retry=st.booleans())
    def start(self, tasks: int, repeats: int, retry: bool) -> None:
        self.folder = Path(tempfile.mkdtemp())
        entries = [entry(self.folder, "alpha", tasks, repeats), entry(self.folder, "beta", 2, repeats)]
        materialize(request(entries, num_shards=2), self.folder / "sweeps")
        self.plan = load_plan(SweepDir(self.folder / "sweeps" / "tiny"), {})
        self.shard = self.plan.sweep.shard(0)
        self.keys = keys_of_shard(self.shard)
        self.torn: set[Path] = set()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    def _append(self, path: Path, *lines: bytes) -> None:
        if path not in self.torn:
            append(path, *lines)

    @rule(number=st.integers(0, 99), masked=st.booleans())
    def succeed(self, number: int, masked: bool) -> None:
        self._append(self.shard.rollouts, rollout(self.keys[number % len(self.keys)], 0.5, mask_sample=masked))

    @rule(number=st.integers(0, 99), kind=st.sampled_from(CLASSES), final=st.booleans())
    def fail(self, number: int, kind: str, final: bool) -> None:
        key = self.keys[number % len(self.keys)]
        self._append(self.shard.failures, failure(key, kind, _ng_failure_terminal=final))

    @rule()
    def write_what_is_foreign(self) -> None:
        self._append(self.shard.rollouts, rollout((1, 0)), b"\n")

    @rule(number=st.integers(0, 99), cut=st.integers(1, 200), sidecar=st.booleans())
    def tear(self, number: int, cut: int, sidecar: bool) -> None:
        path = self.shard.failures if sidecar else self.shard.rollouts
        key = self.keys[number % len(self.keys)]
        line = failure(key) if sidecar else rollout(key)
        self._append(path, line[: max(1, len(line) - cut)])
        self.torn.add(path)

    @rule()
    def repair(self) -> None:
        before = Counter(map(orjson.dumps, _rows(self.shard.rollouts)))
        repair(self.shard, keys_of(self.plan.shard_tasks(0)))
        self.torn.clear()
        after = Counter(map(orjson.dumps, _rows(self.shard.rollouts)))
        assert set(after) <= set(before)
        assert {_key(row) for row in _rows(self.shard.rollouts)} == {
            _key(row) for row in map(orjson.loads, before) if _key(row) in set(self.keys)
        }
        assert max(Counter(_key(row) for row in _rows(self.shard.rollouts)).values(), default=1) == 1

    @precondition(lambda self: hasattr(self, "plan"))
    @rule()
    def forget_the_index(self) -> None:
        shutil.rmtree(self.shard.index, ignore_errors=True)

    @invariant()
    def counts_are_gyms(self) -> None:
        if not hasattr(self, "plan"):
            return
        done = {_key(row) for row in _rows(self.shard.rollouts)}
        failed = _rows(self.shard.failures)
        tries = Counter(map(_key, failed))
        final = {_key(row) for row in failed if row.get("_ng_failure_terminal")}
        gated = {key for key in self.keys if key in final or tries[key] >= 3}
        owed = [key for key in self.keys if key not in done and key not in gated]
        counts = look(self.plan, 0).counts
        assert counts.succeeded == len(done & set(self.keys))
        assert counts.failed_total == len(gated - done)
        assert counts.outstanding == len(owed)
        assert counts.expected == counts.succeeded + counts.failed_total + counts.outstanding
        assert list(outstanding(self.plan, 0).select("task_index", "rollout_index").iter_rows()) == owed


TestCollecting = Collecting.TestCase
TestCollecting.settings = settings(max_examples=40, stateful_step_count=25, deadline=None, derandomize=True)
