"""Two processes that do the same at the same time: one does it, the other waits or is refused, and all is well."""

import random

import pytest

from reward_profiling.sweep.layout import SweepDir
from reward_profiling_tests.collected import holds
from reward_profiling_tests.property.crash.conftest import Children, Ended
from reward_profiling_tests.property.crash.walk import Walk

ROUNDS = 8


@pytest.fixture
def walk(children: Children, dice: random.Random) -> Walk:
    return Walk(children, dice)


def together(walk: Walk, *asked: tuple[str, dict[str, object]]) -> list[Ended]:
    """Run several at once; whoever does not do it says that another does."""
    ended = walk.children.together(*({"operation": name, "arguments": arguments} for name, arguments in asked))
    for each in ended:
        assert each.end == "done" or "another process is changing this sweep" in each.text, each.text
    assert any(each.end == "done" for each in ended)
    return ended


def test_the_same_reshard_twice(walk: Walk) -> None:
    for number in range(ROUNDS):
        held = walk.holds()
        num_shards = (3, 5, 2, 7)[number % 4]
        together(walk, *[("reshard", {"num_shards": num_shards})] * 2)
        assert walk.plan().report.num_shards == num_shards
        walk.sound(held)


def test_two_numbers_of_shards(walk: Walk) -> None:
    for _ in range(ROUNDS):
        held = walk.holds()
        before = walk.plan().report.num_shards
        together(walk, ("reshard", {"num_shards": before + 1}), ("reshard", {"num_shards": before + 2}))
        assert walk.plan().report.num_shards in (before + 1, before + 2)
        walk.sound(held)


def test_the_same_sweep_materialized_twice(walk: Walk) -> None:
    for _ in range(ROUNDS):
        held = walk.holds()
        walk.shape["repeats"] += 1
        together(walk, *[("materialize", dict(walk.shape))] * 2)
        walk.finish("materialize", walk.shape)
        walk.sound(held)


@pytest.mark.parametrize("operation", ["merge", "split"])
def test_outputs(walk: Walk, operation: str) -> None:
    for _ in range(ROUNDS):
        walk.collect()
        held = walk.holds()
        together(walk, *[(operation, {})] * 2)
        folder = walk.folder / ("merged" if operation == "merge" else "by_label")
        files = sorted(folder.rglob("all.jsonl" if operation == "merge" else "rollouts.jsonl"))
        assert holds(files).rollouts == held.rollouts
        walk.sound(held)


def test_an_output_beside_a_reshard(walk: Walk) -> None:
    for number in range(ROUNDS):
        held = walk.holds()
        together(walk, ("reshard", {"num_shards": (3, 5)[number % 2]}), ("merge", {}))
        merged = walk.folder / "merged" / "all.jsonl"
        assert not merged.exists() or holds([merged]).rollouts == held.rollouts
        walk.sound(held)


def test_looks(walk: Walk) -> None:
    for _ in range(ROUNDS):
        walk.collect()
        held = walk.holds()
        ended = walk.children.together(*[{"operation": "index", "arguments": {}}] * 3)
        assert [each.end for each in ended] == ["done"] * 3, ended
        walk.sound(held)


def test_looks_beside_a_reshard_see_one_layout_or_say_so(walk: Walk) -> None:
    for number in range(ROUNDS):
        held = walk.holds()
        asked = [("reshard", {"num_shards": (3, 5)[number % 2]}), ("index", {}), ("index", {})]
        reshard, *looks = walk.children.together(*({"operation": name, "arguments": given} for name, given in asked))
        assert reshard.end == "done", reshard.text
        for each in looks:
            told = ("written for another", "one layout is taking", "is missing", "No such file", "have vanished")
            assert each.end == "done" or any(text in each.text for text in told), each.text
        for shard in walk.sweep.shards.iterdir():
            assert shard.name in {f"shard_{n:03d}" for n in range(walk.plan().report.num_shards)} or not any(
                shard.glob("*.json*")
            )
        walk.sound(held)


def test_launchers(walk: Walk) -> None:
    for _ in range(ROUNDS):
        held = walk.holds()
        asked = {"operation": "ledger", "arguments": {"steps": 3, "end": False}}
        ended = walk.children.together(asked, asked)
        assert [each.end for each in ended] == ["done"] * 2, ended
        walk.one_live_job_per_shard()
        walk.sound(held)
        walk.finish("ledger", {"steps": 1, "end": True})
    assert SweepDir(walk.sweep.path).shard(0).attempts.exists()
