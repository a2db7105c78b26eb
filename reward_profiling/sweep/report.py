"""The sweep report: what was materialized, as observed, and the record of each shard that was written.

Promise: `sweep_report.json` and `shards/*/shard.json` are written last, after what they describe; whoever reads them
through here can rely on the described files having been complete at that moment.
"""

from pathlib import Path
from typing import Any, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from reward_profiling.errors import SweepError
from reward_profiling.files import write_json
from reward_profiling.sweep.deal import DealMode, Layout
from reward_profiling.sweep.layout import ShardDir, SweepDir
from reward_profiling.sweep.sampling import SampleMode
from reward_profiling.sweep.switch import refuse_half_switched

Model = TypeVar("Model", bound=BaseModel)


class EntryReport(BaseModel):
    """One entry as observed. `task_index_range` is half open: [first, end)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str
    agent: str
    owner: str | None
    data: str
    data_size: int
    data_modified_ns: int
    rows: int
    tasks: int
    repeats: int
    limit: int | None
    pass_threshold: float
    task_index_range: tuple[int, int]

    @property
    def rollouts(self) -> int:
        return self.tasks * self.repeats


class SettingReport(BaseModel):
    """One resolved setting and where its value came from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    value: Any
    origin: str


class MixedChange(BaseModel):
    """A change of what rollouts mean that was accepted although there were rollouts: when (UTC), and which parts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: str
    parts: tuple[str, ...]


class SweepReport(BaseModel):
    """`sweep_report.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    nickname: str
    manifest: str
    manifest_digest: str
    tasks_digest: str
    num_shards: int
    deal: DealMode = "task"
    shuffle: int | None = None
    sample: SampleMode
    seed: int
    limit_per_entry: int | None
    materialized_at: str
    entries: tuple[EntryReport, ...]
    settings: tuple[SettingReport, ...]
    digest_parts: dict[str, str]
    meaning: dict[str, str]
    mixed: tuple[MixedChange, ...] = ()

    @property
    def layout(self) -> Layout:
        return Layout(num_shards=self.num_shards, deal=self.deal, shuffle=self.shuffle)

    @property
    def tasks(self) -> int:
        return sum(entry.tasks for entry in self.entries)

    @property
    def rollouts(self) -> int:
        """Rollouts that the whole sweep expects."""
        return sum(entry.rollouts for entry in self.entries)


class ShardRecord(BaseModel):
    """`shard.json`: the work list as it was written: of which task table, dealt how, how much."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shard: str
    tasks_digest: str
    layout: Layout
    tasks: int
    rollouts: int
    work_list_bytes: int


def _read(path: Path, model: type[Model], what: str, cure: str) -> Model:
    try:
        return model.model_validate(orjson.loads(path.read_bytes()))
    except FileNotFoundError as error:
        raise SweepError(f"the {what} is missing", place=str(path), cure=cure) from error
    except OSError as error:
        raise SweepError(f"the {what} cannot be read: {error.strerror}", place=str(path), cure=cure) from error
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise SweepError(f"this is no {what} of this version", place=str(path), cure=cure) from error


def read_report(sweep: SweepDir) -> SweepReport:
    """The report of a materialized sweep; `SweepError` when there is none, or while it changes its layout."""
    refuse_half_switched(sweep)
    return _read(sweep.report, SweepReport, "sweep report", "run `reward-profiling materialize` first")


def write_report(sweep: SweepDir, report: SweepReport) -> None:
    """Write the report atomically."""
    write_json(sweep.report, report.model_dump(mode="json"))


def read_shard_record(shard: ShardDir) -> ShardRecord:
    """The record of a written shard; `SweepError` when it was never written."""
    return _read(shard.record, ShardRecord, "shard record", "materialize this sweep again")


def write_shard_record(shard: ShardDir, record: ShardRecord) -> None:
    """Write the record atomically."""
    write_json(shard.record, record.model_dump(mode="json"))
