"""Whether a work list and its rollouts belong together (Gym contract 6.1).

Promise: after `check_alignment` every rollout has exactly one work-list row, no key occurs twice, and rows without a
rollout exist only where the caller allowed a partial profile.
"""

from pathlib import Path

import polars as pl

from reward_profiling.errors import RolloutsError
from reward_profiling.profile.gym_files import KEY


def check_alignment(
    work: pl.DataFrame, rollouts: pl.DataFrame, *, inputs: Path, results: Path, allow_partial: bool
) -> None:
    """Refuse with `RolloutsError` what the profile could only guess about.

    `work` and `rollouts` are frames of `gym_files`, `inputs` and `results` the files they came from.
    """
    _refuse_duplicates(work, inputs)
    _refuse_duplicates(rollouts, results)
    foreign = rollouts.join(work, on=KEY, how="anti", maintain_order="left")
    if foreign.height:
        raise RolloutsError(
            f"rollout {_first_key(foreign)} is not in the work list{_others(foreign)}",
            place=_first_place(foreign, results),
            cure=f"give the work list of these rollouts instead of {inputs}",
        )
    missing = work.join(rollouts, on=KEY, how="anti", maintain_order="left")
    if missing.height and not allow_partial:
        raise RolloutsError(
            f"{missing.height} of {work.height} rollouts are missing, the first is {_first_key(missing)}",
            place=_first_place(missing, inputs),
            cure="collect them, or allow a partial profile with --allow-partial",
        )


def _refuse_duplicates(frame: pl.DataFrame, path: Path) -> None:
    again = frame.filter(~pl.struct(KEY).is_first_distinct())
    if again.height:
        raise RolloutsError(
            f"the key of rollout {_first_key(again)} occurs a second time{_others(again)}",
            place=_first_place(again, path),
            cure="keep one row per key",
        )


def _first_key(frame: pl.DataFrame) -> str:
    return f"{frame['task_index'][0]}:{frame['rollout_index'][0]}"


def _first_place(frame: pl.DataFrame, path: Path) -> str:
    return f"{path}:{frame['line'][0]}"


def _others(frame: pl.DataFrame) -> str:
    return f" (and {frame.height - 1} more such rows)" if frame.height > 1 else ""
