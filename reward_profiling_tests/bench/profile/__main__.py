"""Time and memory of the drop-in profile, and of `gym eval profile` on the same files where NeMo Gym is installed.

    python -m reward_profiling_tests.bench.profile [--groups 2000] [--repeats 8] [--no-gym]

Each runs as a process of its own; memory is the peak of its resident set, time its wall clock with all imports.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from lab.gym_env import gym_installation
from reward_profiling_tests.bench.measure import measure
from reward_profiling_tests.bench.profile.rows import write_rows
from reward_profiling_tests.unit.profile.compare import assert_same_outputs

_OURS = """
import sys
from pathlib import Path
from reward_profiling.profile.gym_profile import profile_files
profile_files(Path(sys.argv[1]), Path(sys.argv[2]), allow_partial=False)
"""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m reward_profiling_tests.bench.profile")
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--no-gym", action="store_true", help="measure ours alone")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        inputs, rollouts = write_rows(directory, options.groups, options.repeats)
        print(f"{options.groups:,} groups x {options.repeats}, {rollouts.stat().st_size / 1e6:,.0f} MB of rollouts")
        ours = measure([sys.executable, "-c", _OURS, str(inputs), str(rollouts)], directory)
        print(f"ours {ours}")
        gym = None if options.no_gym else gym_installation()
        if gym is None:
            print("gym  not measured (not installed, or --no-gym)")
            return
        kept = directory / "ours"
        kept.mkdir()
        for path in (*directory.glob("rollouts_r*"), *directory.glob("rollouts_agent*")):
            shutil.move(path, kept)
        arguments = ["eval", "profile", "--inputs", inputs.name, "--rollouts", rollouts.name]
        theirs = measure([str(gym.gym), *arguments, "hydra.run.dir=hydra", "hydra.output_subdir=null"], directory)
        print(f"gym  {theirs}  ({gym.version})")
        wall, cpu = theirs.seconds / ours.seconds, theirs.cpu_seconds / ours.cpu_seconds
        print(f"gym / ours: {wall:.1f} x wall, {cpu:.1f} x CPU, {theirs.mebibytes / ours.mebibytes:.1f} x memory")
        if not gym.version.startswith(("0.4", "0.5", "0.6")):
            assert_same_outputs(kept / rollouts.name, rollouts)
            print("the outputs are the same")


if __name__ == "__main__":
    main()
