"""Sweeps that have been profiled, without the files they were collected in."""

from pathlib import Path

import polars as pl

from reward_profiling.profile.sweep_inputs import RECORD_COLUMNS, CollectedShard, Environment, Stamp
from reward_profiling.profile.sweep_profile import profile_sweep
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.numbers import numeric_record
from reward_profiling.sweep.status import Counts

LABELS = ("alpha", "beta")


def profiled_sweep(
    directory: Path, nickname: str, rewards: list[float], moment: str = "2026-01-31T12:00:00Z"
) -> SweepDir:
    """A profiled sweep of two environments with one task each; `rewards` are those of `alpha`, of two expected."""
    sweep = SweepDir(directory / nickname)
    tasks = pl.DataFrame(
        {
            "task_index": [0, 1],
            "label": LABELS,
            "source": ["s.jsonl", "s.jsonl"],
            "source_row": [0, 1],
            "content_hash": ["x", "y"],
            "repeats": [2, 2],
            "shard": [0, 0],
        }
    )
    records = [(0, place, numeric_record({"reward": reward, "own": 1})) for place, reward in enumerate(rewards)]
    counts = {
        "alpha": Counts(expected=2, succeeded=len(rewards), outstanding=2 - len(rewards)),
        "beta": Counts(expected=2, failed={"skipped": 2}),
    }
    shard = CollectedShard(counts, pl.DataFrame(records, schema=RECORD_COLUMNS, orient="row"), False)
    stamp = Stamp(nickname, f"sha256:{nickname}", moment)
    profile_sweep(sweep, [Environment(label, 1.0) for label in LABELS], tasks, [shard], stamp)
    return sweep
