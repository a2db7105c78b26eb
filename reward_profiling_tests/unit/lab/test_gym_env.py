"""Where a NeMo Gym is looked for, and how its light servers share one venv."""

import sys
from pathlib import Path

import pytest

from lab import gym_env

SAYS = """#!/bin/sh
echo "NeMo Gym v{version}"
echo "Python 3.13.0 (/x/bin/python)"
echo "Installation: /x/packages"
"""


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gym_env, "DEFAULT_DIR", tmp_path / "own")
    monkeypatch.setenv("PATH", f"{tmp_path}/path:/bin:/usr/bin")
    monkeypatch.delenv("REWARD_PROFILING_GYM", raising=False)


def found_version() -> str | None:
    found = gym_env.gym_installation()
    return found.version if found else None


def test_the_named_one_wins_then_the_repositorys_own_then_the_one_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert found_version() is None
    executable(tmp_path / "path" / "gym", SAYS.format(version="1.0.0"))
    assert found_version() == "1.0.0"
    executable(tmp_path / "own" / "bin" / "gym", SAYS.format(version="2.0.0"))
    assert found_version() == "2.0.0"
    monkeypatch.setenv(
        "REWARD_PROFILING_GYM", str(executable(tmp_path / "named" / "gym", SAYS.format(version="3.0.0")))
    )
    assert found_version() == "3.0.0"
    monkeypatch.setenv("REWARD_PROFILING_GYM", "simulated")
    assert found_version() == "2.0.0"


def test_a_program_of_another_kind_is_no_gym(tmp_path: Path) -> None:
    executable(tmp_path / "path" / "gym", "#!/bin/sh\necho gymnasium 1.0\n")
    assert gym_env.gym_installation() is None


def test_an_installation_of_ours_brings_its_server_venvs(tmp_path: Path) -> None:
    executable(tmp_path / "own" / "bin" / "gym", SAYS.format(version="2.0.0"))
    found = gym_env.gym_installation()
    assert found is not None
    assert found.uv_venv_dir is None
    gym_env.link_servers(tmp_path / "own", tmp_path / "own" / "servers")
    found = gym_env.gym_installation()
    assert found is not None
    assert found.uv_venv_dir == tmp_path / "own" / "servers"
    assert (found.venv, found.packages) == (tmp_path / "own", Path("/x/packages"))


def test_every_light_server_uses_the_one_venv_also_after_it_moved(tmp_path: Path) -> None:
    for venv in (tmp_path / "old", tmp_path / "new", tmp_path / "new"):
        venv.mkdir(exist_ok=True)
        gym_env.link_servers(venv, tmp_path / "servers")
    links = list((tmp_path / "servers").glob("*/*/.venv"))
    assert len(links) == len(gym_env.LIGHT_SERVERS)
    assert {link.readlink() for link in links} == {tmp_path / "new"}


def test_the_newest_interpreter_that_runs_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A shim that does not run, one of PATH, a newer one of pyenv, and one that is too new."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    with pytest.raises(gym_env.GymEnvError, match=r"3\.13"):
        gym_env.find_interpreter()
    executable(tmp_path / "path" / "python3.13", "#!/bin/sh\nexit 127\n")
    executable(tmp_path / "path" / "python3.12", "#!/bin/sh\necho 3 12 9\n")
    executable(tmp_path / "path" / "python3", "#!/bin/sh\necho 3 14 0\n")
    assert gym_env.find_interpreter().version == (3, 12, 9)
    newest = executable(tmp_path / "pyenv" / "versions" / "3.13.1" / "bin" / "python", "#!/bin/sh\necho 3 13 1\n")
    assert gym_env.find_interpreter() == gym_env.Interpreter(newest, (3, 13, 1))


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    kept = tmp_path / "mine" / "pyvenv.cfg"
    kept.write_text("home = /x\n")
    with pytest.raises(gym_env.GymEnvError, match="holds something else"):
        gym_env.install(tmp_path / "mine")
    assert list((tmp_path / "mine").iterdir()) == [kept]
