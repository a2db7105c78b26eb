"""The exit record: read back as written, refused when it is something else; endings judged by counts."""

from pathlib import Path

import pytest

from reward_profiling.errors import StorageError
from reward_profiling.launch.exit_record import ExitRecord, Reason, read_exit_record, write_exit_record
from reward_profiling.launch.inside.ending import Ending
from reward_profiling.launch.inside.supervise import judge
from reward_profiling.sweep.status import Counts

RECORD = ExitRecord(
    job_id="17",
    attempt=2,
    shard="shard_003",
    nodes=("n1", "n2"),
    reason=Reason.STALLED,
    message="no new row for 3600 s",
    started_at=1.5,
    ready_at=2.5,
    first_row_at=None,
    ended_at=9.0,
    before=Counts(10, 4, 1, {"agent_run_error": 2}, 4),
    after=None,
    exit_codes={"collector": 143},
    gym_version="0.7.0",
    simulated=False,
)


def test_it_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "attempt_002" / "exit_record.json"
    assert read_exit_record(path) is None
    write_exit_record(path, RECORD)
    assert read_exit_record(path) == RECORD
    assert [each.name for each in path.parent.iterdir()] == ["exit_record.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]"])
def test_what_is_no_record_is_an_error_and_not_a_missing_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "exit_record.json"
    path.write_bytes(content)
    with pytest.raises(StorageError, match="no exit record"):
        read_exit_record(path)


ALL, SOME = Counts(expected=4, succeeded=4), Counts(expected=4, succeeded=3, outstanding=1)


@pytest.mark.parametrize(
    ("reason", "after", "judged"),
    [
        (Reason.COMPLETE, ALL, Reason.COMPLETE),
        (Reason.COLLECTOR_FAILED, ALL, Reason.COMPLETE),
        (Reason.TERMINATED, ALL, Reason.COMPLETE),
        (Reason.COMPLETE, SOME, Reason.INCOMPLETE),
        (Reason.STALLED, SOME, Reason.STALLED),
        (Reason.STALLED, None, Reason.STALLED),
        (Reason.NOTHING_OUTSTANDING, ALL, Reason.NOTHING_OUTSTANDING),
    ],
)
def test_completeness_is_counted_and_never_believed(reason: Reason, after: Counts | None, judged: Reason) -> None:
    assert judge(Ending(reason, "why"), after).reason is judged


def test_uncounted_is_not_complete() -> None:
    assert judge(Ending(Reason.COMPLETE, "the collector has ended"), None).reason is Reason.INCOMPLETE
