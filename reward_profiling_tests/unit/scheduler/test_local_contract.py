"""The embedded local scheduler keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reward_profiling.scheduler.local import LocalScheduler
from reward_profiling_tests.scheduler_contract import SchedulerContract, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    directory = tmp_path / "scheduler"
    scheduler = LocalScheduler(directory, slots=3, kill_wait=1)
    yield Stage(
        scheduler,
        tmp_path,
        "from reward_profiling.scheduler.local import LocalScheduler\n"
        f"scheduler = LocalScheduler(Path({str(directory)!r}), slots=3)",
        time_limit="0:01",
        expire=lambda job_id: None,
    )
    for job in scheduler.queue():
        if job.live:
            scheduler.cancel(job.id)


class TestLocalScheduler(SchedulerContract):
    pass
