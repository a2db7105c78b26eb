"""Every golden case: what a released NeMo Gym wrote for the same two files, or that it refused them."""

import shutil
from pathlib import Path

import orjson
import pytest

from reward_profiling.errors import RolloutsError
from reward_profiling.profile.gym_profile import profile_files
from reward_profiling_tests.unit.profile.compare import OUTPUTS, assert_same_outputs

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path for path in GOLDEN.iterdir() if path.is_dir())


def _outcome(case: Path) -> dict[str, object]:
    return orjson.loads((case / "expected" / "outcome.json").read_bytes())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_case(case: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "rollouts_materialized_inputs.jsonl"
    rollouts = tmp_path / "rollouts.jsonl"
    for path in (inputs, rollouts):
        shutil.copyfile(case / path.name, path)
    allow_partial = orjson.loads((case / "case.json").read_bytes())["allow_partial_rollouts"]
    expected = _outcome(case)
    if expected["exit_code"] != 0:
        with pytest.raises(RolloutsError, match=r"\.jsonl:\d+: "):
            profile_files(inputs, rollouts, allow_partial=allow_partial)
        assert sorted(path.name for path in tmp_path.iterdir()) == [rollouts.name, inputs.name]
        return
    counts = profile_files(inputs, rollouts, allow_partial=allow_partial).completion
    assert_same_outputs(rollouts, case / "expected" / rollouts.name)
    assert {
        "completed_rollouts": counts.collected,
        "expected_rollouts": counts.expected,
        "pct_2dp": f"{counts.percent:.2f}",
        "total_input_rows": counts.groups,
        "complete": counts.complete,
        "partial": counts.partial,
        "without_rollouts": counts.empty,
        "masked_rollouts": counts.masked,
    } == expected["console_counts"]


def test_the_three_files_are_named_after_the_rollouts_without_their_last_suffix(tmp_path: Path) -> None:
    inputs, rollouts = tmp_path / "in.jsonl", tmp_path / "a.b.jsonl"
    for path in (inputs, rollouts):
        path.touch()
    files = profile_files(inputs, rollouts, allow_partial=False).files
    assert [path.name for path in (files.groups, files.agents, files.repeats)] == [f"a.b{end}" for end in OUTPUTS]
    assert all(path.exists() for path in (files.groups, files.agents, files.repeats))
