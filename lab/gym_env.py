"""A real NeMo Gym in a venv of its own, ready to start its light environments without installing anything more.

Promise: `python -m lab.gym_env --dir .gym-venv` finds an interpreter, makes the venv, installs one pinned release and
links that venv as the venv of each light server; run again, it only checks. `gym_installation` finds what is installed.
Each of Gym's servers runs in `<uv_venv_dir>/<type>/<name>/.venv`; with `++uv_venv_dir=` and
`++skip_venv_if_present=true` (or the same two keys in a config) Gym uses what is there, a symlink included.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_DIR = REPOSITORY / ".gym-venv"
LIGHT_SERVERS = (
    "environment_servers/legacy_agent",
    "resources_servers/calendar",
    "resources_servers/equivalence_rule",
    "resources_servers/example_single_tool_call",
    "resources_servers/gymnasium",
    "resources_servers/mcqa",
    "resources_servers/single_step_tool_use_with_argument_comparison",
    "resources_servers/structured_outputs",
    "responses_api_agents/gymnasium_agent",
    "responses_api_agents/non_executing_simple_agent",
    "responses_api_agents/simple_agent",
    "responses_api_agents/tool_simulation_agent",
    "responses_api_models/vllm_model",
)
"""What runs in one shared venv: NeMo Gym itself and the few small packages below."""

_EXTRA_PACKAGES = ("tiktoken", "openapi-schema-validator", "tomli-w", "xmltodict")
_NEWEST, _FOR_PYTHON_312 = "0.7.0", "0.4.0"
_STAMP = ".installed"
_SERVERS = "servers"

Version = tuple[int, ...]


class GymEnvError(Exception):
    """The Gym environment cannot be made; the text is one line with the cure."""


@dataclass(frozen=True)
class Interpreter:
    """A Python that can run NeMo Gym."""

    path: Path
    version: Version


@dataclass(frozen=True)
class GymInstallation:
    """An installed NeMo Gym.

    `packages` is the folder that holds its `resources_servers` (with `data/example.jsonl` in most of them);
    `uv_venv_dir` the folder of server venvs made by this module, None where another hand installed Gym (`link_servers`
    makes one).
    """

    gym: Path
    version: str
    packages: Path
    uv_venv_dir: Path | None

    @property
    def venv(self) -> Path:
        return self.gym.resolve().parent.parent


def gym_installation() -> GymInstallation | None:
    """The Gym that REWARD_PROFILING_GYM names, else the repository's own, else the one on PATH, else None."""
    named = os.environ.get("REWARD_PROFILING_GYM", "")
    candidates = [named if named != "simulated" else "", str(DEFAULT_DIR / "bin" / "gym"), "gym"]
    for candidate in filter(None, candidates):
        found = shutil.which(candidate)
        if found is not None:
            installation = _ask(Path(found))
            if installation is not None:
                return installation
    return None


def link_servers(venv: Path, directory: Path) -> Path:
    """Make `directory` a `uv_venv_dir` in which every light server uses `venv`; returns it."""
    for server in LIGHT_SERVERS:
        link = directory / server / ".venv"
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink() and link.readlink() != venv:
            link.unlink()
        if not link.is_symlink():
            link.symlink_to(venv)
    return directory


def install(directory: Path, version: str | None = None) -> GymInstallation:
    """Make or complete the Gym environment in `directory`. Raises `GymEnvError`."""
    directory = directory.absolute()
    stamp = directory / _STAMP
    if directory.exists() and any(directory.iterdir()) and not stamp.exists():
        raise GymEnvError(f"{directory} holds something else; remove it or pass another --dir")
    interpreter = find_interpreter()
    wanted = version or (_NEWEST if interpreter.version >= (3, 13) else _FOR_PYTHON_312)
    content = " ".join((wanted, *_EXTRA_PACKAGES)) + "\n"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != content:
        _make(directory, interpreter, wanted)
        stamp.write_text(content, encoding="utf-8")
    link_servers(directory, directory / _SERVERS)
    installation = _ask(directory / "bin" / "gym")
    if installation is None:
        raise GymEnvError(f"{directory}/bin/gym does not answer; remove {directory} and run again")
    return installation


def find_interpreter() -> Interpreter:
    """The newest Python 3.12 or 3.13 on PATH or of pyenv, else of uv (which may fetch one)."""
    for paths in ([*_on_path(), *_of_pyenv()], _of_uv()):
        found = [interpreter for path in paths if (interpreter := _examine(path)) is not None]
        if found:
            return max(found, key=lambda interpreter: interpreter.version)
    raise GymEnvError("no Python 3.12 or 3.13 here; install one (pyenv install 3.13) or uv")


def _on_path() -> Iterator[Path]:
    for name in ("python3.13", "python3.12", "python3"):
        found = shutil.which(name)
        if found:
            yield Path(found)
    yield Path(sys.executable)


def _of_pyenv() -> Iterator[Path]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from root.glob("versions/3.1[23]*/bin/python")


def _of_uv() -> Iterator[Path]:
    uv = shutil.which("uv")
    if uv is None:
        return
    subprocess.run([uv, "python", "install", "--quiet", "3.13"], check=False)
    found = subprocess.run([uv, "python", "find", "3.13"], capture_output=True, text=True, check=False)
    if found.returncode == 0:
        yield Path(found.stdout.strip())


def _examine(path: Path) -> Interpreter | None:
    """The interpreter at `path`; None when it does not run (a pyenv shim), makes no venvs or has another version."""
    question = "import ensurepip, venv, sys; print(*sys.version_info[:3])"
    answer = subprocess.run([path, "-c", question], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return None
    version = tuple(map(int, answer.stdout.split()))
    return Interpreter(path, version) if (3, 12) <= version < (3, 14) else None


def _make(directory: Path, interpreter: Interpreter, version: str) -> None:
    text = ".".join(map(str, interpreter.version))
    print(f"NeMo Gym {version} on Python {text} ({interpreter.path}): about two minutes and 1 GB", flush=True)
    pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if interpreter.version >= (3, 13):
        pip.append("--ignore-requires-python")  # its metadata asks for a patch release that it does not need
    _run([str(interpreter.path), "-m", "venv", "--clear", str(directory)])
    (directory / _STAMP).touch()  # an interrupted installation is known as ours, and made again
    _run([*pip, f"nemo-gym=={version}", *_EXTRA_PACKAGES])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False)
    if done.returncode != 0:
        raise GymEnvError(f"failed ({done.returncode}): {' '.join(command)}; see above and run again")


def _ask(gym: Path) -> GymInstallation | None:
    """What an executable says of itself, None when it is no NeMo Gym."""
    try:
        answer = subprocess.run([gym, "--version"], capture_output=True, text=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"NeMo Gym v?(\S+)(.*)", answer.stdout)
    packages = re.search(r"Installation: *(.+)", answer.stdout)
    if not version or not packages:
        return None
    servers = gym.absolute().parent.parent / _SERVERS
    return GymInstallation(
        gym.absolute(), version.group(1), Path(packages.group(1).strip()), servers if servers.is_dir() else None
    )


def main() -> None:
    """Install, then say how to use it."""
    parser = argparse.ArgumentParser(prog="python -m lab.gym_env", description="Install NeMo Gym in a venv of its own.")
    parser.add_argument("--dir", type=Path, default=DEFAULT_DIR, help="the venv to make (default: %(default)s)")
    parser.add_argument("--version", help=f"default: {_NEWEST}, or {_FOR_PYTHON_312} where only Python 3.12 is found")
    options = parser.parse_args()
    try:
        installation = install(options.dir, options.version)
    except GymEnvError as error:
        sys.exit(f"lab.gym_env: {error}")
    print(f"NeMo Gym {installation.version} is ready. To use it:")
    print(f"export REWARD_PROFILING_GYM={installation.gym}")
    print(f"export GYM_ENV_START_UV_VENV_DIR={installation.uv_venv_dir} GYM_ENV_START_SKIP_VENV_IF_PRESENT=true")


if __name__ == "__main__":
    main()
