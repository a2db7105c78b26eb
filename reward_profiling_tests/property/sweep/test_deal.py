"""Every rollout has exactly one owner, whatever is dealt and however it is ordered."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reward_profiling.sweep.deal import Layout, in_dispatch_order, keys_of, owner, tasks_of_shard, with_first_row

REPEATS = st.lists(st.integers(1, 5), min_size=1, max_size=12)
LAYOUTS = st.builds(
    Layout,
    num_shards=st.integers(1, 9),
    deal=st.sampled_from(["task", "row"]),
    shuffle=st.none() | st.integers(0, 2**63 - 1),
)


def _table(repeats: list[int]) -> pl.DataFrame:
    columns = {"task_index": range(len(repeats)), "label": ["a"] * len(repeats), "repeats": repeats}
    return pl.DataFrame(columns, schema={"task_index": pl.Int64, "label": pl.String, "repeats": pl.Int32})


def _keys(frame: pl.DataFrame) -> list[tuple[int, int]]:
    return list(frame.select("task_index", "rollout_index").iter_rows())


@given(repeats=REPEATS, layout=LAYOUTS)
def test_shards_partition_the_keys_as_the_rule_says(repeats: list[int], layout: Layout) -> None:
    table = _table(repeats)
    everything = _keys(keys_of(table))
    assert everything == [(task, repeat) for task, count in enumerate(repeats) for repeat in range(count)]
    dealt = [_keys(keys_of(tasks_of_shard(table, number, layout))) for number in range(layout.num_shards)]
    for number, keys in enumerate(dealt):
        if layout.deal == "task":
            assert keys == [key for key in everything if key[0] % layout.num_shards == number]
        else:
            assert keys == everything[number :: layout.num_shards]
    rows = keys_of(table).join(with_first_row(table).select("task_index", "first_row"), on="task_index")
    owners = dict(zip(_keys(rows), rows.select(owner(layout)).to_series(), strict=True))
    assert all(owners[key] == number for number, keys in enumerate(dealt) for key in keys)


@given(repeats=REPEATS, layout=LAYOUTS)
def test_shuffling_moves_whole_tasks_within_their_shard(repeats: list[int], layout: Layout) -> None:
    table = _table(repeats)
    everywhere = [task for task, _ in _keys(keys_of(in_dispatch_order(table, layout)))]
    for number in range(layout.num_shards):
        tasks = tasks_of_shard(table, number, layout)
        keys = _keys(in_dispatch_order(keys_of(tasks), layout))
        assert sorted(keys) == _keys(keys_of(tasks))
        assert keys == _keys(keys_of(in_dispatch_order(tasks, layout)))
        own = {task for task, _ in keys}
        assert list(dict.fromkeys(task for task, _ in keys)) == list(
            dict.fromkeys(task for task in everywhere if task in own)
        )


def test_a_shuffle_is_fixed_for_ever() -> None:
    table = _table([2] * 8)

    def order(seed: int) -> list[int]:
        return in_dispatch_order(table, Layout(num_shards=2, shuffle=seed))["task_index"].to_list()

    assert order(0) == [6, 1, 3, 7, 4, 2, 5, 0]
    assert order(1) != order(0)
