"""The drop-in profile against a naive reading of the contract, and under changes that must not matter."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reward_profiling_tests.property.profile.naive import NaiveProfile
from reward_profiling_tests.unit.profile.compare import difference
from reward_profiling_tests.unit.profile.rows import Profile, Row

# Sums of the naive profile are exact; within this range of values the package's rounding stays below the tolerance.
ROUNDING = 1e-9

_names = st.sampled_from(
    ["reward", "a", "b", "max", "p25", "x_ci_lower", "_h", "total", "response", "mask_sample", "é"]
)
_floats = st.one_of(st.sampled_from([0.1, 0.3, 0.7, -0.0]), st.floats(-100, 100).map(lambda value: round(value, 3)))
_integers = st.integers(-3, 3)
_oddities = st.sampled_from(["text", "1.0", None, [1.0], {"a": 1}, True, False])
_usages = st.one_of(st.none(), st.dictionaries(_names, st.one_of(_integers, _floats, _oddities), max_size=4))


@st.composite
def _results(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> Row:
    row: Row = draw(st.dictionaries(_names.filter(lambda name: name not in ("response", "mask_sample")), values))
    if draw(st.booleans()):
        row["response"] = draw(st.one_of(st.none(), _usages.map(lambda usage: {"usage": usage})))
    if draw(st.integers(0, 3)) == 0:
        row["mask_sample"] = draw(st.sampled_from([True, False, None, 1, 0, "yes"]))
    return row


@st.composite
def _files(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """A work list and rollouts of at most 5 tasks; some of the rollouts are missing."""
    values = draw(st.sampled_from([_integers, st.one_of(_integers, _floats), st.one_of(_floats, _oddities)]))
    keys = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=14, unique=True))
    work, rollouts = [], []
    for task, rollout in keys:
        identity = {"_ng_task_index": task, "_ng_rollout_index": rollout}
        agent = draw(st.sampled_from(["a", "a", "b", None]))
        server = draw(st.sampled_from([None, None, "b", "one"]))
        reference = {} if agent is None else {"agent_ref": {"name": agent}}
        stamp = {} if server is None else {"_ng_environment_server": server}
        work.append({"question": rollout, **reference, **stamp, **identity})
        if draw(st.integers(0, 4)):
            rollouts.append({**draw(_results(values)), **identity})
    return work, draw(st.permutations(rollouts))


def _profile(work: Sequence[Row], rollouts: Sequence[Row]) -> Profile:
    with tempfile.TemporaryDirectory() as directory:
        return Profile(Path(directory), work, rollouts)


@settings(max_examples=150, deadline=None)
@given(_files())
def test_the_profile_is_what_the_contract_says(files: tuple[list[Row], list[Row]]) -> None:
    ours, theirs = _profile(*files), NaiveProfile(*files)
    for name in ("groups", "agents", "repeats"):
        found = difference(getattr(ours, name), getattr(theirs, name), name, absolute=ROUNDING)
        assert found is None, found


@settings(max_examples=40, deadline=None)
@given(_files(), st.randoms(use_true_random=False))
def test_the_order_of_the_rollout_file_does_not_matter(files: tuple[list[Row], list[Row]], random: Any) -> None:
    work, rollouts = files
    shuffled = random.sample(rollouts, len(rollouts))
    ours, again = _profile(work, rollouts), _profile(work, shuffled)
    assert (ours.groups, ours.agents, ours.repeats) == (again.groups, again.agents, again.repeats)


@settings(max_examples=40, deadline=None)
@given(_files())
def test_counts_add_up(files: tuple[list[Row], list[Row]]) -> None:
    profile = _profile(*files)
    counts = profile.completion
    assert counts.complete + counts.partial + counts.empty == counts.groups
    assert (counts.expected, counts.collected) == (len(files[0]), len(files[1]))
    for row in profile.groups:
        assert row["num_rollouts"] == len(row["rollout_infos"])
        assert row["num_rollouts"] + row["missing_num_rollouts"] == row["expected_num_rollouts"]
