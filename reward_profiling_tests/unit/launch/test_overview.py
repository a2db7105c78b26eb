"""The overview of a sweep adds up, and tells how fast it goes as far as that is known."""

from pathlib import Path

from reward_profiling.launch.overview import document, overview
from reward_profiling.sweep import last_look
from reward_profiling.sweep.completeness import Plan
from reward_profiling_tests.sweeps import append, keys_of_shard, rollout, tiny_plan

START = 1_000_000.0


def _at(plan: Plan, minute: float, patched: list[float]) -> dict:
    patched[0] = START + 60 * minute
    return document(overview(plan))


def test_rates_and_time_left_are_told_once_they_are_known(tmp_path: Path, monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(last_look.time, "time", lambda: clock[0])
    plan = tiny_plan(tmp_path, tasks=10, repeats=4, num_shards=2)
    first = _at(plan, 0, clock)
    assert (first["rate_per_hour"], first["eta_seconds"], first["eta_at_least"]) == (None, None, True)
    assert first["last_row_at"] is None
    for number, count in ((0, 20), (1, 10)):
        shard = plan.sweep.shard(number)
        append(shard.rollouts, *(rollout(key) for key in keys_of_shard(shard)[:count]))
    second = _at(plan, 30, clock)
    assert second["expected"] == second["succeeded"] + second["outstanding"] == 80
    assert [shard["rate_per_hour"] for shard in second["shards"]] == [40, 20]
    assert second["rate_per_hour"] == 60
    # The first shard has begun `alpha` only: 20 of its 40 at 40 an hour. The second is slower: 30 at 20 an hour.
    assert [shard["eta_seconds"] for shard in second["shards"]] == [1800, 5400]
    assert (second["eta_seconds"], second["eta_at_least"]) == (5400, True)
    assert second["last_row_at"] is not None
    by_label = {each["label"]: each for each in second["environments"]}
    assert by_label["alpha"]["rate_per_hour"] == 60
    assert (by_label["beta"]["rate_per_hour"], by_label["beta"]["eta_seconds"]) == (0, None)
