"""Where everything of a sweep lies: the one place that spells file names.

Promise: paths only; nothing here reads or writes. The names inside a shard are those NeMo Gym derives from
`--output rollouts.jsonl` (gym_contract 3.1).
"""

import re
from dataclasses import dataclass
from pathlib import Path

_SHARD_NAME = re.compile(r"shard_(\d{3,})\Z")


def shard_name(number: int) -> str:
    """`shard_000` for 0: the partition key of a shard and the name of its directory."""
    return f"shard_{number:03d}"


def shard_number(name: str) -> int | None:
    """The number in a shard's name, or None when `name` is no shard's."""
    found = _SHARD_NAME.match(name)
    return int(found.group(1)) if found else None


@dataclass(frozen=True)
class ShardDir:
    """One shard's directory, a complete unit that a job can run against."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def work_list(self) -> Path:
        """One line per (task, repeat), ours to write."""
        return self.path / "rollouts_materialized_inputs.jsonl"

    @property
    def record(self) -> Path:
        """What the work list held when it was written."""
        return self.path / "shard.json"

    @property
    def rollouts(self) -> Path:
        """Successes, appended by NeMo Gym alone."""
        return self.path / "rollouts.jsonl"

    @property
    def failures(self) -> Path:
        """Failed attempts, appended by NeMo Gym alone."""
        return self.path / "rollouts_failures.jsonl"

    @property
    def index(self) -> Path:
        """Our incremental index of the two files above."""
        return self.path / "rollout_index"

    @property
    def attempts(self) -> Path:
        """The attempts ledger."""
        return self.path / "attempts.jsonl"

    @property
    def rejected(self) -> Path:
        """What was taken out of the two files above, with the reason, one JSON line each."""
        return self.path / "rejected.jsonl"

    @property
    def submit_lock(self) -> Path:
        """Held while the ledger is changed and a job is submitted."""
        return self.path / ".submit.lock"

    @property
    def collect_lock(self) -> Path:
        """Held by the job that collects."""
        return self.path / ".collect.lock"

    @property
    def job_script(self) -> Path:
        """The rendered script of the latest attempt."""
        return self.path / "job.sh"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def attempt_logs(self, attempt: int) -> Path:
        """The directory in which attempt `attempt` (counted from 1) logs."""
        return self.logs / f"attempt_{attempt:03d}"

    def exit_record(self, attempt: int) -> Path:
        """The JSON that a job writes atomically as its last act."""
        return self.attempt_logs(attempt) / "exit_record.json"


@dataclass(frozen=True)
class SweepDir:
    """One sweep's directory, `<sweeps_dir>/<nickname>`."""

    path: Path

    @property
    def nickname(self) -> str:
        return self.path.name

    @property
    def manifest(self) -> Path:
        """The manifest as materialized."""
        return self.path / "manifest.yaml"

    @property
    def report(self) -> Path:
        return self.path / "sweep_report.json"

    @property
    def sweep_config(self) -> Path:
        """What `gym env start --config` reads."""
        return self.path / "sweep_config.yaml"

    @property
    def tasks(self) -> Path:
        return self.path / "tasks.parquet"

    @property
    def shards(self) -> Path:
        return self.path / "shards"

    @property
    def profiles(self) -> Path:
        return self.path / "profiles"

    @property
    def snapshots(self) -> Path:
        """Earlier states of this sweep, one directory per moment."""
        return self.path / "snapshots"

    @property
    def next(self) -> "SweepDir":
        """Another layout of this sweep while it is built; nothing in it counts before the switch."""
        return SweepDir(self.path / "next")

    @property
    def journal(self) -> Path:
        """There while one layout takes the place of another."""
        return self.path / "switch.json"

    @property
    def change_lock(self) -> Path:
        """Held by the one process that changes tasks or layout."""
        return self.path / ".change.lock"

    def shard(self, number: int) -> ShardDir:
        return ShardDir(self.shards / shard_name(number))
