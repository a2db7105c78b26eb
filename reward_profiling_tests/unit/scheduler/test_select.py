"""Without Slurm's commands this machine is the scheduler."""

from pathlib import Path

import pytest

from reward_profiling.errors import LaunchError
from reward_profiling.scheduler.local import LocalScheduler
from reward_profiling.scheduler.select import find_scheduler


def test_without_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for kind in (None, "local"):
        scheduler = find_scheduler(kind, local_directory=tmp_path, slots=2)  # type: ignore[arg-type]
        assert isinstance(scheduler, LocalScheduler) and scheduler.kind == "local"
    with pytest.raises(LaunchError, match=r"no Slurm here.*--scheduler local"):
        find_scheduler("slurm", local_directory=tmp_path, slots=2)
