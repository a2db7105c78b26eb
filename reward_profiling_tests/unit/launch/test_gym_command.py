"""Which Gym a job runs."""

import sys
from pathlib import Path

import pytest

from reward_profiling.errors import LaunchError
from reward_profiling.launch.gym_command import GymCommand


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_command_line_then_the_environment_then_path(tmp_path: Path) -> None:
    on_path, named, asked = (_program(tmp_path / each / "gym") for each in ("bin", "a b", "c"))
    environ = {"PATH": str(on_path.parent)}
    assert GymCommand.find(environ) == GymCommand((str(on_path),))
    environ["REWARD_PROFILING_GYM"] = str(named)
    assert GymCommand.find(environ) == GymCommand((str(named),))
    assert GymCommand.find(environ, str(asked)) == GymCommand((str(asked),))


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """A virtual environment's executable knows its environment by the path by which it is called."""
    real = _program(tmp_path / "real" / "gym")
    link = tmp_path / "venv" / "gym"
    link.parent.mkdir()
    link.symlink_to(real)
    assert GymCommand.find({}, str(link)).argv == (str(link),)


def test_a_relative_name_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(tmp_path / "bin" / "gym")
    monkeypatch.chdir(tmp_path)
    assert GymCommand.find({}, "bin/gym").argv == (str(tmp_path / "bin" / "gym"),)


def test_a_command_of_several_words(tmp_path: Path) -> None:
    runner = _program(tmp_path / "uv")
    found = GymCommand.find({"PATH": str(tmp_path)}, "uv run --project 'a b' gym")
    assert found.argv == (str(runner), "run", "--project", "a b", "gym")


def test_the_stand_in() -> None:
    found = GymCommand.find({"PATH": "", "REWARD_PROFILING_GYM": "simulated"})
    assert found.simulated and found.argv == (sys.executable, "-P", "-m", "reward_profiling.simulate")


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (None, "there is no `gym` on PATH"),
        ("/nowhere/gym", "/nowhere/gym is no executable"),
        ("nowhere run gym", "nowhere run gym is no executable"),
        ("un'closed", "un'closed is no command"),
    ],
)
def test_no_gym_is_refused_with_both_cures(tmp_path: Path, wanted: str | None, problem: str) -> None:
    with pytest.raises(LaunchError, match=problem) as caught:
        GymCommand.find({"PATH": str(tmp_path)}, wanted)
    assert "REWARD_PROFILING_GYM" in str(caught.value) and "`simulated`" in str(caught.value)
