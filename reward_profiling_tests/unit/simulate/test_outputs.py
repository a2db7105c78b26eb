"""Tails, done keys and attempts, read from files in every state that a kill leaves (Gym contract 3.3 and 3.7)."""

from pathlib import Path

import pytest

from reward_profiling.errors import RewardProfilingError
from reward_profiling.simulate.outputs import Outputs, read_done, repair_tail

ROW = b'{"_ng_task_index":%d,"_ng_rollout_index":0}\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b""),
        (b'{"a":1}\n', b'{"a":1}\n'),
        (b'{"a":1}', b'{"a":1}\n'),
        (b'{"a":1}\n{"b":2}', b'{"a":1}\n{"b":2}\n'),
        (b'{"a":1}\n{"b', b'{"a":1}\n'),
        (b'{"a', b""),
        (b'{"a":1}\n{"b":"' + b"x" * 200_000, b'{"a":1}\n'),
        (b'{"a":1}\n{"b":"' + b"x" * 200_000 + b'"}', b'{"a":1}\n{"b":"' + b"x" * 200_000 + b'"}\n'),
    ],
)
def test_a_tail_is_cut_or_closed(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(before)
    repair_tail(path)
    assert path.read_bytes() == after


def outputs(tmp_path: Path, rollouts: bytes, failures: bytes = b"") -> Outputs:
    found = Outputs(tmp_path / "a.b.jsonl")
    found.rollouts.write_bytes(rollouts)
    found.failures.write_bytes(failures)
    return found


def test_names_drop_the_last_suffix_only(tmp_path: Path) -> None:
    found = Outputs(tmp_path / "a.b.jsonl")
    assert found.failures.name == "a.b_failures.jsonl"
    assert found.work_list.name == "a.b_materialized_inputs.jsonl"


def test_blank_lines_are_ignored_and_a_broken_one_is_refused(tmp_path: Path) -> None:
    found = outputs(tmp_path, ROW % 1 + b"\n" + ROW % 2)
    assert read_done(found, {}, retry_terminal=False).succeeded == {(1, 0), (2, 0)}
    broken = b"{\n" + ROW % 1
    found = outputs(tmp_path, broken)
    with pytest.raises(RewardProfilingError, match=r"a\.b\.jsonl:1"):
        read_done(found, {}, retry_terminal=False)
    assert found.rollouts.read_bytes() == broken


@pytest.mark.parametrize(("text", "attempts"), [(None, 3), ("2", 2), ("0", 3), ("many", 3)])
def test_attempts_are_counted_against_the_environments_limit(tmp_path: Path, text: str | None, attempts: int) -> None:
    environ = {} if text is None else {"NEMO_GYM_MAX_ROLLOUT_ATTEMPTS": text}
    for failed in range(1, 4):
        done = read_done(outputs(tmp_path, b"", ROW % 5 * failed), environ, retry_terminal=False)
        assert done.outstanding((5, 0)) is (failed < attempts)
        assert done.outstanding((6, 0))


@pytest.mark.parametrize(
    ("row", "outstanding", "outstanding_when_retried"),
    [
        (b'"_ng_failure_class":"timeout_exceeded","_ng_failure_terminal":true', False, True),
        (b'"_ng_failure_class":"skipped","_ng_failure_terminal":true', False, False),
        (b'"_ng_failure_class":"skipped"', True, False),
        (b'"_ng_failure_class":"judge_failed","_ng_failure_terminal":true', False, False),
        (b'"_ng_failure_class":"judge_failed","_ng_failure_terminal":0', True, True),
    ],
)
def test_terminal_failures(tmp_path: Path, row: bytes, outstanding: bool, outstanding_when_retried: bool) -> None:
    line = b'{"_ng_task_index":1,"_ng_rollout_index":0,%s}\n' % row
    anonymous = b'{"_ng_task_index":1,"_ng_failure_terminal":true}\n'
    found = outputs(tmp_path, b"", line + anonymous)
    assert read_done(found, {}, retry_terminal=False).outstanding((1, 0)) is outstanding
    assert read_done(found, {}, retry_terminal=True).outstanding((1, 0)) is outstanding_when_retried
