"""Which job is next: a table of cases, jobs written as `number:name:state`."""

import pytest

from reward_profiling.scheduler.local_admission import may_start
from reward_profiling.scheduler.local_records import LocalJob, LocalSpec, LocalState
from reward_profiling.scheduler.processes import ProcessIdentity
from reward_profiling.scheduler.protocol import JobState

_WORDS = {"P": JobState.PENDING, "R": JobState.RUNNING, "C": JobState.COMPLETING, "E": JobState.FAILED}


def jobs(text: str) -> list[LocalJob]:
    found = []
    for item in text.split():
        number, name, word = item.split(":")
        spec = LocalSpec(name, "/", "/log", 0.0, 1, 1.0, None, None, 0)
        state = LocalState(_WORDS[word], ProcessIdentity("host", "boot", 1, 1))
        found.append(LocalJob(int(number), spec, state))
    return found


@pytest.mark.parametrize(
    ("text", "slots", "starting"),
    [
        ("1:a:P", 1, {1}),
        ("1:a:P 2:b:P", 1, {1}),
        ("1:a:P 2:b:P", 2, {1, 2}),
        ("1:a:R 2:b:P 3:c:P", 2, {2}),
        ("1:a:R 2:a:P 3:b:P", 2, {3}),
        ("1:a:P 2:a:P", 2, {1}),
        ("2:a:P 3:a:R", 2, set()),
        ("1:a:C 2:a:P", 2, set()),
        ("1:a:C 2:b:P", 1, set()),
        ("1:a:E 2:a:P", 1, {2}),
        ("1:a:R 2:b:R 3:c:P", 1, set()),
    ],
)
def test_who_may_start(text: str, slots: int, starting: set[int]) -> None:
    known = jobs(text)
    assert {job.number for job in known if may_start(job.number, known[::-1], slots)} == starting
