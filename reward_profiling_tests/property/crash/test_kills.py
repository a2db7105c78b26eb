"""SIGKILL at any moment of any operation: running it again completes it; no rollout is lost, doubled or misplaced.

More than two hundred kills in all. Half of them come by the clock, half at one of the moments at which the operation
asks something of the file system.
"""

import random
import shutil

import pytest

from reward_profiling.launch.ledger import read_ledger
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.materialize import materialize
from reward_profiling_tests.collected import holds
from reward_profiling_tests.property.crash.conftest import Children
from reward_profiling_tests.property.crash.operations import FolderScheduler, entries
from reward_profiling_tests.property.crash.walk import SHAPE, Walk
from reward_profiling_tests.sweeps import request

KILLS = {"materialize": 25, "extend": 25, "index": 35, "reshard": 50, "merge": 25, "split": 25, "ledger": 35}


@pytest.fixture
def walk(children: Children, dice: random.Random) -> Walk:
    return Walk(children, dice)


def test_materialize(children: Children, dice: random.Random) -> None:
    walk = Walk(children, dice)
    arguments = {**SHAPE, "num_shards": 3}
    materialize(request(entries(walk.folder, **SHAPE), num_shards=3), walk.folder / "reference")
    reference = SweepDir(walk.folder / "reference" / "tiny")
    while walk.kills < KILLS["materialize"]:
        shutil.rmtree(walk.sweep.path)
        while walk.killed("materialize", arguments).end == "killed" and dice.random() < 0.5:
            pass
        walk.finish("materialize", arguments)
        for number in range(3):
            shard, same = walk.sweep.shard(number), reference.shard(number)
            assert shard.work_list.read_bytes() == same.work_list.read_bytes()
            assert shard.record.read_bytes() == same.record.read_bytes()
        walk.sound(walk.holds())


def test_materialize_that_extends(walk: Walk) -> None:
    while walk.kills < KILLS["extend"]:
        walk.collect()
        grown = walk.dice.choice(["repeats", "labels"]) if walk.shape["labels"] < 6 else "repeats"
        held = walk.holds()
        old = walk.shape
        walk.shape = {**old, grown: old[grown] + 1}
        walk.killed("materialize", walk.shape)
        assert holds(list(walk.sweep.shards.glob("*/rollouts.jsonl"))).rollouts == held.rollouts
        walk.finish("materialize", walk.shape)
        walk.sound(held)


def test_index_update(walk: Walk) -> None:
    while walk.kills < KILLS["index"]:
        if walk.dice.random() < 0.5:
            shutil.rmtree(walk.sweep.shard(walk.dice.randrange(4)).index, ignore_errors=True)
        if walk.dice.random() < 0.2:
            walk.shape["repeats"] += 1
            walk.finish("materialize", walk.shape)
        walk.collect()
        walk.kill_and_finish("index", {})


def test_reshard(walk: Walk) -> None:
    while walk.kills < KILLS["reshard"]:
        if walk.dice.random() < 0.2:
            walk.shape["repeats"] += 1
            walk.finish("materialize", walk.shape)
        walk.collect()
        walk.finish("ledger", {"steps": 2, "end": True})
        now = walk.plan().report.num_shards
        num_shards = walk.dice.choice([number for number in (1, 2, 3, 5, 7, 9) if number != now])
        walk.kill_and_finish("reshard", {"num_shards": num_shards})
        assert walk.plan().report.num_shards == num_shards
        if len(list(walk.sweep.snapshots.iterdir())) > 3:
            shutil.rmtree(walk.sweep.snapshots)


def test_reshard_to_another_number_than_the_one_that_was_interrupted(walk: Walk) -> None:
    held = walk.holds()
    for number in (3, 2, 5, 4, 1, 6):
        walk.killed("reshard", {"num_shards": number})
        walk.nothing_is_missing(held)
    walk.finish("reshard", {"num_shards": 7})
    walk.sound(held)
    assert walk.plan().report.num_shards == 7


@pytest.mark.parametrize("operation", ["merge", "split"])
def test_merge_and_split(walk: Walk, operation: str) -> None:
    def written() -> list[object]:
        merged = [walk.folder / "merged" / "all.jsonl"], [walk.folder / "merged" / "all_failures.jsonl"]
        labels = sorted((walk.folder / "by_label").glob("?"))
        parts = [each / "rollouts.jsonl" for each in labels], [each / "rollouts_failures.jsonl" for each in labels]
        return [holds(*(merged if operation == "merge" else parts))]

    walk.finish(operation, {})
    before = written()
    while walk.kills < KILLS[operation]:
        walk.collect()
        now = [walk.holds()]
        walk.killed(operation, {})
        if operation == "merge":
            # The two files change one after the other; each is the old one or the new one.
            (seen,) = written()
            assert seen.rollouts in (before[0].rollouts, now[0].rollouts)
            assert seen.failures in (before[0].failures, now[0].failures)
        walk.finish(operation, {})
        before = written()
        assert before == now
        walk.sound(now[0])
        if not walk.owed(now[0]):
            walk.shape["repeats"] += 1
            walk.finish("materialize", walk.shape)


def test_ledger(walk: Walk) -> None:
    while walk.kills < KILLS["ledger"]:
        arguments = {"steps": walk.dice.randint(1, 4), "end": walk.dice.random() < 0.5}
        held = walk.holds()
        walk.killed("ledger", arguments)
        walk.one_live_job_per_shard()
        walk.finish("ledger", {"steps": 3, "end": False})
        walk.one_live_job_per_shard()
        ledgers = [read_ledger(walk.sweep.shard(number)) for number in range(4)]
        known = {attempt.job_id for ledger in ledgers for attempt in ledger.attempts}
        assert known == set(FolderScheduler(walk.folder).jobs())
        walk.sound(held)
