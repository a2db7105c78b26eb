"""What a group row says besides statistics (Gym contract 6.5), and masking (6.2)."""

from pathlib import Path

from reward_profiling_tests.unit.profile.rows import Profile, result, work


def test_completion_of_a_partial_group(tmp_path: Path) -> None:
    row = Profile(tmp_path, [work(3, rollout) for rollout in range(3)], [result(3, 2, reward=1.0)]).groups[0]
    counts = {key: row[key] for key in list(row)[-5:-1]}
    assert counts == {
        "num_rollouts": 1,
        "expected_num_rollouts": 3,
        "missing_num_rollouts": 2,
        "reward_profile_completion_pct": 100 / 3,
    }


def test_the_sample_is_the_work_list_row_of_the_lowest_present_rollout(tmp_path: Path) -> None:
    inputs = [work(0, 0, note="first"), work(0, 2, note="third"), work(0, 1, note="second", extra=[1])]
    row = Profile(tmp_path, inputs, [result(0, 2), result(0, 1)]).groups[0]
    assert row["sample"] == {"note": "second", "extra": [1], "agent_ref": {"name": "a"}}


def test_rollout_infos_ascend_and_later_values_replace_earlier_ones(tmp_path: Path) -> None:
    results = [
        result(0, 1, {"input_tokens": 5, "_ng_task_index": 9}, reward="x", rollout_id=7),
        result(0, 0, {"reward": True, "total": 2}, reward=0.5, total=1),
    ]
    infos = Profile(tmp_path, [work(0, 0), work(0, 1)], results).groups[0]["rollout_infos"]
    assert infos == [
        {"rollout_id": "0:0", "_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1, "total": 1},
        {"rollout_id": 7, "_ng_task_index": 9, "_ng_rollout_index": 1, "reward": "x", "input_tokens": 5},
    ]


def test_masked_rollouts_leave_the_numbers_and_the_expectation(tmp_path: Path) -> None:
    keys = [(0, 0), (0, 1), (1, 0), (1, 1)]
    inputs = [work(*key) for key in keys]
    results = [result(*key, reward=1.0, mask_sample=key != (0, 1)) for key in keys]
    profile = Profile(tmp_path, inputs, results)
    assert [(row["_ng_task_index"], row["expected_num_rollouts"]) for row in profile.groups] == [(0, 1)]
    assert (profile.completion.collected, profile.completion.masked, profile.completion.complete) == (4, 3, 2)


def test_a_fan_out_has_a_row_per_task_and_label_and_names_it(tmp_path: Path) -> None:
    keys = [(task, agent, rollout) for task in (1, 0) for rollout, agent in enumerate("ba")]
    inputs = [work(task, rollout, agent) for task, agent, rollout in keys]
    groups = Profile(tmp_path, inputs, [result(task, rollout, reward=1.0) for task, _, rollout in keys]).groups
    assert [(row["_ng_task_index"], row["agent_ref"]) for row in groups] == [
        (task, {"name": agent}) for task in (0, 1) for agent in "ab"
    ]
    assert list(groups[0])[list(groups[0]).index("agent_ref") + 1] == "sample"


def test_files_of_several_reading_batches_keep_lines_and_offsets_apart(tmp_path: Path) -> None:
    number = 10_001
    profile = Profile(
        tmp_path,
        [work(task, 0, note="x" * (task % 7)) for task in range(number)],
        [result(task, 0, reward=float(task), **({"late": 1} if task == number - 1 else {})) for task in range(number)],
    )
    assert [row["mean/reward"] for row in profile.groups] == list(map(float, range(number)))
    assert [len(row["sample"]["note"]) for row in profile.groups] == [task % 7 for task in range(number)]
    assert [task for task, row in enumerate(profile.groups) if "mean/late" in row] == [number - 1]
