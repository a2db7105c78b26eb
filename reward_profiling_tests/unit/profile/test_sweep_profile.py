"""The profile of a sweep, made from real shard files: tables per environment and the summary."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from reward_profiling.errors import RefusedError, RolloutsError, SweepError
from reward_profiling.profile.gym_profile import profile_files
from reward_profiling.profile.refresh import refresh
from reward_profiling.profile.sweep_inputs import RECORD_COLUMNS, CollectedShard, Environment, Stamp
from reward_profiling.profile.sweep_profile import SweepProfile, profile_sweep, table_path
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.numbers import numeric_record
from reward_profiling.sweep.status import Counts
from reward_profiling_tests.sweeps import Key, append, failure, keys_of_shard, rollout, tiny_plan, work_list
from reward_profiling_tests.unit.profile.compare import load

REWARDS = {0: (1.0, 1.0), 1: (0.0, 0.5), 2: (0.0, 0.0), 3: (1.0, 0.5), 4: (0.25, 1.0), 5: (1.0, 1.0)}


def _collect(plan: Plan, lines: Mapping[Key, bytes]) -> None:
    for number in range(plan.report.num_shards):
        shard = plan.sweep.shard(number)
        # Reversed: NeMo Gym writes in the order of completion.
        append(shard.rollouts, *(lines[key] for key in reversed(keys_of_shard(shard)) if key in lines))


def _everything(**extra: Any) -> dict[Key, bytes]:
    return {
        (task, repeat): rollout((task, repeat), reward, steps=repeat + task, **extra)
        for task, rewards in REWARDS.items()
        for repeat, reward in enumerate(rewards)
    }


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """`alpha` has the tasks 0 to 2 and `beta` 3 to 5, of the same agent, twice each, in two shards."""
    return tiny_plan(tmp_path)


def _tables(profile: SweepProfile) -> dict[str, pl.DataFrame]:
    return {label: pl.read_parquet(path) for label, path in profile.tables.items()}


def _row(profile: SweepProfile, label: str) -> dict[str, Any]:
    return profile.summary.row(by_predicate=pl.col("label") == label, named=True)


def test_each_table_is_what_the_drop_in_says_of_the_same_rollouts(plan: Plan, tmp_path: Path) -> None:
    lines = _everything()
    lines[3, 1] = rollout((3, 1), 0.5, mask_sample=True)
    lines[4, 0] = rollout((4, 0), "broken", other=True)
    del lines[5, 1]
    _collect(plan, lines)
    for label, table in _tables(refresh(plan.sweep, {})).items():
        inputs, rollouts = tmp_path / f"{label}_in.jsonl", tmp_path / f"{label}.jsonl"
        own = set(table["_ng_task_index"])
        shards = [plan.sweep.shard(number) for number in range(2)]
        work = b"".join(shard.work_list.read_bytes() for shard in shards).splitlines(keepends=True)
        keys = [key for shard in shards for key in keys_of_shard(shard)]
        inputs.write_bytes(b"".join(line for key, line in zip(keys, work, strict=True) if key[0] in own))
        rollouts.write_bytes(b"".join(line for key, line in lines.items() if key[0] in own))
        gym = load(profile_files(inputs, rollouts, allow_partial=True).files.groups)
        assert [row["_ng_task_index"] for row in gym] == table["_ng_task_index"].to_list()
        for theirs, ours in zip(gym, table.iter_rows(named=True), strict=True):
            shared = [key for key in theirs if key not in ("sample", "rollout_infos")]
            assert {key: theirs[key] for key in shared} == {key: ours[key] for key in shared}
            # Keys that the group has not are null here, and all stand in the same order.
            assert {key for key, value in ours.items() if "/" in key and value is not None} <= set(theirs)
            assert [key for key in ours if key in theirs] == shared


def test_an_environment_is_a_label_even_where_two_share_an_agent(plan: Plan) -> None:
    _collect(plan, _everything())
    tables = _tables(refresh(plan.sweep, {}))
    assert {label: table["_ng_task_index"].to_list() for label, table in tables.items()} == {
        "alpha": [0, 1, 2],
        "beta": [3, 4, 5],
    }
    assert tables["alpha"]["mean/reward"].to_list() == [1.0, 0.25, 0.0]


def test_every_task_has_a_row_that_says_where_it_comes_from(plan: Plan) -> None:
    _collect(plan, {(1, 1): rollout((1, 1), 0.5)})
    table = _tables(refresh(plan.sweep, {}))["alpha"]
    assert table["_ng_task_index"].to_list() == [0, 1, 2]
    assert table["num_rollouts"].to_list() == [0, 1, 0]
    assert table["missing_num_rollouts"].to_list() == [2, 1, 2]
    assert table["mean/reward"].to_list() == [None, 0.5, None]
    assert table["reward_profile_completion_pct"].to_list() == [0.0, 50.0, 0.0]
    assert table["shard"].to_list() == [0, 1, 0]
    assert table["source_row"].to_list() == [0, 1, 2]
    assert table["content_hash"].to_list() == plan.tasks["content_hash"][:3].to_list()
    assert set(table["complete"]) == {False}


def test_a_sweep_without_rollouts_has_tables_with_empty_statistics(plan: Plan) -> None:
    profile = refresh(plan.sweep, {})
    for table in _tables(profile).values():
        assert table["std/reward"].null_count() == table.height == 3
    row = _row(profile, "alpha")
    assert (row["outstanding"], row["tasks_measured"], row["mean_reward"], row["pass_rate"]) == (6, 0, None, None)
    assert not profile.complete


def test_the_summary_accounts_for_every_rollout(plan: Plan) -> None:
    lines = _everything()
    lines[0, 1] = rollout((0, 1), 1.0, mask_sample=True)
    lines[1, 0] = rollout((1, 0), None)
    del lines[2, 0], lines[2, 1]
    _collect(plan, lines)
    append(plan.sweep.shard(0).failures, *[failure((2, 0), "agent_run_error")] * 3)
    row = _row(refresh(plan.sweep, {}), "alpha")
    accounts = ("expected", "succeeded", "masked", "scored", "failed", "outstanding", "rewards", "tasks_measured")
    assert [row[name] for name in accounts] == [6, 4, 1, 3, 1, 1, 2, 2]
    assert row["expected"] == row["scored"] + row["masked"] + row["failed"] + row["outstanding"]
    assert row["failed_by_class"] == [{"failure_class": "agent_run_error", "rollouts": 1}]
    assert row["complete"] is False


def test_the_summary_of_rewards(plan: Plan) -> None:
    _collect(plan, _everything())
    row = _row(refresh(plan.sweep, {}), "beta")
    assert row["complete"] is True
    assert row["pass_threshold"] == 1.0
    assert row["mean_reward"] == pytest.approx(4.75 / 6)
    assert row["mean_reward_of_tasks"] == pytest.approx((0.75 + 0.625 + 1.0) / 3)
    assert row["std_reward"] == pytest.approx(pl.Series([1.0, 0.5, 0.25, 1.0, 1.0, 1.0]).std())
    assert (row["min_reward"], row["max_reward"]) == (0.25, 1.0)
    assert row["pass_rate"] == pytest.approx(4 / 6)
    assert [row[f"tasks_{kind}"] for kind in ("all_pass", "all_fail", "mixed")] == [1, 0, 2]
    assert [row[f"share_{kind}"] for kind in ("all_pass", "all_fail", "mixed")] == [1 / 3, 0.0, 2 / 3]
    assert (row["mean_output_tokens"], row["mean_input_tokens"]) == (3.0, None)


def test_means_over_rollouts_and_over_tasks_differ_where_tasks_have_unequal_numbers(plan: Plan) -> None:
    _collect(plan, {key: line for key, line in _everything().items() if key != (1, 1)})
    row = _row(refresh(plan.sweep, {}), "alpha")
    assert row["mean_reward"] == pytest.approx(2.0 / 5)
    assert row["mean_reward_of_tasks"] == pytest.approx(1.0 / 3)


def test_partial_and_simulated_are_said_in_every_table_and_its_metadata(plan: Plan) -> None:
    _collect(plan, {key: line for key, line in _everything(_simulated=True).items() if key[0] < 3})
    profile = refresh(plan.sweep, {})
    assert profile.simulated and not profile.complete
    flags = {}
    for name, path in {**profile.tables, "summary": profile.summary_path}.items():
        metadata = pq.read_schema(path).metadata
        flags[name] = metadata[b"complete"], metadata[b"simulated"]
        assert metadata[b"nickname"] == b"tiny"
        assert metadata[b"manifest_digest"] == b"sha256:0"
        assert metadata[b"profiled_at"].endswith(b"Z")
    assert flags == {"alpha": (b"true", b"true"), "beta": (b"false", b"true"), "summary": (b"false", b"true")}
    assert profile.summary["complete"].to_list() == [True, False]
    assert [set(table["complete"]) for table in _tables(profile).values()] == [{True}, {False}]
    assert set(profile.summary["simulated"]) == {True}


def test_a_refreshed_profile_replaces_the_old_one(plan: Plan) -> None:
    lines = _everything()
    _collect(plan, {key: line for key, line in lines.items() if key[1] == 0})
    assert not refresh(plan.sweep, {}).complete
    _collect(plan, {key: line for key, line in lines.items() if key[1] == 1})
    profile = refresh(plan.sweep, {})
    assert profile.complete
    assert _tables(profile)["alpha"]["num_rollouts"].to_list() == [2, 2, 2]
    assert not list(plan.sweep.profiles.glob("*.tmp"))


TASKS = pl.DataFrame(
    {
        "task_index": [0, 1],
        "label": ["alpha", "alpha"],
        "source": ["a.jsonl", "a.jsonl"],
        "source_row": [0, 1],
        "content_hash": ["x", "y"],
        "repeats": [1, 1],
        "shard": [0, 1],
    }
)
STAMP = Stamp("tiny", "sha256:0", "2026-01-31T12:00:00Z")


def _shard(*keys: Key, counts: Counts) -> CollectedShard:
    records = [(*key, numeric_record({"reward": 1.0})) for key in keys]
    return CollectedShard({"alpha": counts}, pl.DataFrame(records, schema=RECORD_COLUMNS, orient="row"), False)


def _two_shards(second: CollectedShard) -> Iterator[CollectedShard]:
    yield _shard((0, 0), counts=Counts(expected=1, succeeded=1))
    yield second


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (_shard(counts=Counts(expected=1, succeeded=1)), "1 collected.*but 2, 2, 0 by the counts"),
        (_shard((1, 0), counts=Counts(expected=1, outstanding=1)), "2 collected.*but 2, 1, 0 by the counts"),
        (_shard((0, 0), counts=Counts(expected=1, succeeded=1)), "alpha: rollout 0:0 was collected by two shards;"),
    ],
)
def test_rollouts_that_were_not_the_ones_counted_are_refused(
    tmp_path: Path, second: CollectedShard, problem: str
) -> None:
    sweep = SweepDir(tmp_path / "tiny")
    with pytest.raises(RolloutsError, match=problem):
        profile_sweep(sweep, [Environment("alpha", 1.0)], TASKS, _two_shards(second), STAMP)
    assert not list(sweep.profiles.glob("*.parquet"))


def test_rollouts_of_no_task_are_passed_over(tmp_path: Path) -> None:
    second = _shard((1, 0), (1, 1), (9, 0), counts=Counts(expected=1, succeeded=1))
    profile = profile_sweep(SweepDir(tmp_path), [Environment("alpha", 1.0)], TASKS, _two_shards(second), STAMP)
    assert _tables(profile)["alpha"]["num_rollouts"].to_list() == [1, 1]


def test_labels_that_cannot_be_profiled_are_refused(tmp_path: Path) -> None:
    sweep = SweepDir(tmp_path)
    with pytest.raises(RefusedError, match="cannot be labelled `summary`"):
        profile_sweep(sweep, [Environment("summary", 1.0)], TASKS, [], STAMP)
    with pytest.raises(SweepError, match="tasks of alpha, which is no environment"):
        profile_sweep(sweep, [Environment("beta", 1.0)], TASKS, [], STAMP)
    assert not list(tmp_path.iterdir())


def test_a_fully_masked_task_has_no_completion(plan: Plan) -> None:
    _collect(plan, {(0, repeat): rollout((0, repeat), 1.0, mask_sample=True) for repeat in range(2)})
    row = _tables(refresh(plan.sweep, {}))["alpha"].row(0, named=True)
    assert (row["num_rollouts"], row["num_masked"], row["expected_num_rollouts"]) == (0, 2, 0)
    assert row["reward_profile_completion_pct"] is None
    assert len(work_list(plan.sweep.shard(0))) == 6
    assert table_path(plan.sweep, "alpha").exists()
