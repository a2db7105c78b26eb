"""The installed NeMo Gym and the drop-in say the same of the same files."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.gym_env import GymInstallation
from reward_profiling.errors import RolloutsError
from reward_profiling.profile.gym_profile import profile_files
from reward_profiling_tests.parts import missing
from reward_profiling_tests.unit.profile.compare import assert_same_outputs
from reward_profiling_tests.unit.profile.random_files import RandomFiles, random_files

pytestmark = pytest.mark.gym

# What each seed is rich in: missing rollouts and servers in a fan-out; integers alone; masks, servers and rows without
# an agent; odd types in a fan-out to four agents; large groups; odd types without usage.
SEEDS = (0, 15, 21, 29, 33, 19)


@pytest.fixture
def gym_profile(gym: GymInstallation, tmp_path: Path) -> Callable[[RandomFiles], tuple[Path, Path, int]]:
    """Writes files, lets Gym profile them; answers work list, rollouts and exit code."""
    if gym.version.startswith(("0.4", "0.5", "0.6")):
        missing(f"NeMo Gym 0.7 or later (there is {gym.version})", "install Python 3.13, run `python -m lab.gym_env`")

    def run(files: RandomFiles) -> tuple[Path, Path, int]:
        inputs, rollouts = files.write(tmp_path / "gym")
        options = ["++allow_partial_rollouts=True", "hydra.run.dir=hydra", "hydra.output_subdir=null"]
        names = ["--inputs", inputs.name, "--rollouts", rollouts.name]
        done = subprocess.run(
            [gym.gym, "eval", "profile", *names, *options], cwd=inputs.parent, capture_output=True, timeout=240
        )
        return inputs, rollouts, done.returncode

    return run


@pytest.mark.parametrize("seed", SEEDS)
def test_random_files_are_profiled_alike(
    seed: int, gym_profile: Callable[[RandomFiles], tuple[Path, Path, int]], tmp_path: Path
) -> None:
    inputs, theirs, code = gym_profile(random_files(seed, tasks=120))
    assert code == 0
    ours = Path(shutil.copy(theirs, tmp_path))
    profile_files(inputs, ours, allow_partial=True)
    assert_same_outputs(ours, theirs)


@pytest.mark.parametrize("damage", ["duplicate", "foreign", "work list duplicate"])
def test_damaged_files_are_refused_alike(
    damage: str, gym_profile: Callable[[RandomFiles], tuple[Path, Path, int]]
) -> None:
    files = random_files(1, tasks=3)
    if damage == "duplicate":
        files.rollouts.append(files.rollouts[0])
    elif damage == "foreign":
        files.rollouts.append(files.rollouts[0] | {"_ng_task_index": 10_000})
    else:
        files.work.append(files.work[0])
    inputs, rollouts, code = gym_profile(files)
    assert code != 0
    with pytest.raises(RolloutsError):
        profile_files(inputs, rollouts, allow_partial=True)
