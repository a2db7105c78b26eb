import signal

import pytest

from reward_profiling.errors import LaunchError
from reward_profiling.scheduler.slurm_times import EarlySignal, early_signal, seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", 240),
        ("90", 5400),
        ("4:05", 245),
        ("01:02:03", 3723),
        ("2-1", 176400),
        ("2-01:30", 178200),
        ("1-00:00:01", 86401),
        ("0", None),
        ("UNLIMITED", None),
        ("infinite", None),
    ],
)
def test_time_limits(text: str, expected: int | None) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["soon", "1:2:3:4", "1-", "-1", "1.5", "1h"])
def test_what_is_no_time_limit(text: str) -> None:
    with pytest.raises(LaunchError, match="no time limit"):
        seconds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B:USR1@120", EarlySignal(signal.SIGUSR1, 120)),
        ("B:SIGTERM", EarlySignal(signal.SIGTERM, 60)),
        ("RB:10@5", EarlySignal(10, 5)),
        ("USR1@60", None),
    ],
)
def test_signals_before_the_limit(text: str, expected: EarlySignal | None) -> None:
    assert early_signal(text) == expected


@pytest.mark.parametrize("text", ["", "B:", "B:NOPE@3", "B:USR1@soon", "X:USR1", "999"])
def test_what_is_no_signal(text: str) -> None:
    with pytest.raises(LaunchError, match="no signal"):
        early_signal(text)
