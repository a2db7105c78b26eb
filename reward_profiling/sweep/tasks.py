"""The task table: one row per task of a sweep, in task order.

Promise: task indices are assigned once, in manifest order, before anything is dealt (design, decision 1). The table on
disk is the one that its digest in the sweep report names, or reading it is refused.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from reward_profiling.errors import SweepError
from reward_profiling.files import atomic_path, remove_temporaries
from reward_profiling.sweep.rows import RowRule
from reward_profiling.sweep.sampling import SampleMode, choose_rows
from reward_profiling.sweep.sources import SourceIndex

TASK_SCHEMA = {
    "task_index": pl.Int64(),
    "label": pl.String(),
    "agent": pl.String(),
    "source": pl.String(),
    "source_row": pl.Int64(),
    "byte_offset": pl.Int64(),
    "byte_length": pl.Int64(),
    "content_hash": pl.String(),
    "verbatim": pl.Boolean(),
    "repeats": pl.Int32(),
}
"""`source_row` counts the non-blank lines of the source from 0; `agent` is the agent the rows are collected for;
`verbatim` says whether the source bytes go into the work list as they are."""

_DIGESTED = ("task_index", "label", "agent", "content_hash", "repeats")
_DIGEST_KEY = "tasks_digest"


@dataclass(frozen=True)
class EntryPlan:
    """What one manifest entry contributes: which dataset, for which agent, how much of it, how often."""

    label: str
    agent: str
    data: Path
    repeats: int
    agent_ref_override: str | None = None
    limit: int | None = None
    pass_threshold: float = 1.0
    owner: str | None = None

    @property
    def rule(self) -> RowRule:
        return RowRule(self.agent, self.agent_ref_override)


@dataclass(frozen=True)
class IndexedEntry:
    """An entry and the index of its dataset."""

    plan: EntryPlan
    index: SourceIndex


def build_task_table(entries: Sequence[IndexedEntry], mode: SampleMode, seed: int) -> pl.DataFrame:
    """The table (`TASK_SCHEMA`) of all entries, in the order given."""
    parts = []
    for entry in entries:
        plan, rows = entry.plan, entry.index.rows
        taken = choose_rows(rows.height, plan.limit, mode, seed, plan.label)
        parts.append(
            _take(rows.with_row_index("source_row"), taken).with_columns(
                label=pl.lit(plan.label),
                agent=pl.lit(plan.agent_ref_override or plan.agent),
                source=pl.lit(str(entry.index.path)),
                repeats=pl.lit(plan.repeats),
            )
        )
    table = pl.concat(parts).with_row_index("task_index")
    return table.select(pl.col(name).cast(kind) for name, kind in TASK_SCHEMA.items())


def _take(rows: pl.DataFrame, taken: Sequence[int]) -> pl.DataFrame:
    return rows if len(taken) == rows.height else rows[pl.Series(taken, dtype=pl.UInt32)]


def tasks_digest(table: pl.DataFrame) -> str:
    """`blake2b:<hex>` over what makes a task what it is: index, label, agent, content, repeats."""
    digest = blake2b(digest_size=16)
    columns = [pl.col(name).cast(pl.String) for name in _DIGESTED]
    for rows in table.iter_slices(100_000):
        for line in rows.select(pl.concat_str(columns, separator="\0")).to_series():
            digest.update(line.encode() + b"\n")
    return f"blake2b:{digest.hexdigest()}"


def task_ranges(table: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """The half-open range of task indices of each label; a label's tasks are next to each other."""
    ends = table.group_by("label").agg(first=pl.col("task_index").min(), end=pl.col("task_index").max() + 1)
    return {label: (first, end) for label, first, end in ends.iter_rows()}


def pending(path: Path) -> Path:
    """Where a new task table waits until the sweep report names it."""
    return path.with_name(f"{path.stem}.next{path.suffix}")


def write_tasks(path: Path, table: pl.DataFrame, digest: str) -> None:
    """Write the table and its digest atomically; only one process may do so at a time."""
    remove_temporaries(path)
    with atomic_path(path) as temporary:
        table.write_parquet(temporary, metadata={_DIGEST_KEY: digest})


class TaskTable:
    """A task table on disk that is read when it is first asked for; make one with `find_tasks`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table (`TASK_SCHEMA`); `SweepError` when it cannot be read."""
        with _readable(self._path):
            table = pl.read_parquet(self._path)
        if dict(table.schema) != TASK_SCHEMA:
            raise SweepError("this is no task table of this version", place=str(self._path), cure="materialize again")
        return table


def find_tasks(path: Path, digest: str) -> TaskTable:
    """The table with this digest at `path`, or waiting beside it; `SweepError` when there is none."""
    waiting = pending(path)
    with _readable(path):
        if waiting.exists() and _digest_of(waiting) == digest:
            # A crash after the report was written: finish what it announced.
            waiting.replace(path)
        if _digest_of(path) != digest:
            raise SweepError(
                "the task table is not the one of the sweep report", place=str(path), cure="materialize again"
            )
    return TaskTable(path)


def read_tasks(path: Path, digest: str) -> pl.DataFrame:
    """The content of the table that `find_tasks` finds."""
    return find_tasks(path, digest).frame


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise SweepError(
            "the task table is missing", place=str(path), cure="run `reward-profiling materialize` first"
        ) from error
    except (OSError, PolarsError) as error:
        raise SweepError(
            f"the task table cannot be read: {error}", place=str(path), cure="restore it or materialize again"
        ) from error


def _digest_of(path: Path) -> str | None:
    return pl.read_parquet_metadata(path).get(_DIGEST_KEY)
