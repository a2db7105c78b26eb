"""A seeded selection is reproducible, nested, and independent of everything but its own entry."""

from hypothesis import given
from hypothesis import strategies as st

from reward_profiling.sweep.sampling import choose_rows

COUNTS = st.integers(1, 300)


@given(count=COUNTS, small=st.integers(1, 300), more=st.integers(0, 100), seed=st.integers(0, 9))
def test_a_smaller_limit_takes_a_subset(count: int, small: int, more: int, seed: int) -> None:
    fewer = choose_rows(count, small, "random", seed, "a")
    larger = choose_rows(count, small + more, "random", seed, "a")
    assert set(fewer) <= set(larger)
    assert len(fewer) == min(small, count)
    assert list(fewer) == sorted(fewer)


@given(count=COUNTS, limit=st.integers(1, 300))
def test_head_takes_the_first(count: int, limit: int) -> None:
    assert list(choose_rows(count, limit, "head", 0, "a")) == list(range(min(count, limit)))


def test_seed_and_label_matter_and_the_choice_is_fixed_for_ever() -> None:
    assert choose_rows(100, 5, "random", 0, "a") == [9, 20, 59, 81, 91]
    assert choose_rows(100, 5, "random", 1, "a") != choose_rows(100, 5, "random", 0, "a")
    assert choose_rows(100, 5, "random", 0, "b") != choose_rows(100, 5, "random", 0, "a")


def test_every_row_can_be_taken() -> None:
    taken = {row for seed in range(60) for row in choose_rows(20, 3, "random", seed, "a")}
    assert taken == set(range(20))
