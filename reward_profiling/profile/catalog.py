"""One table over all sweeps, and a database that any DuckDB client opens read-only.

Promise: the catalog is a snapshot: it holds copies, so that it opens from any directory and machine and never mixes two
profilings of one sweep; it is replaced whole. Every row says which sweep it is of, and whether that is complete and
simulated.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq

from reward_profiling.errors import SweepError
from reward_profiling.files import atomic_path
from reward_profiling.profile.environment_summary import SUMMARY_SCHEMA
from reward_profiling.profile.new_database import new_database
from reward_profiling.profile.stamped_parquet import read_stamped
from reward_profiling.profile.statistic_keys import BLOCKS
from reward_profiling.profile.sweep_profile import summary_path, table_path
from reward_profiling.sweep.layout import SweepDir

_SHARED_COLUMNS = ("reward", "input_tokens", "output_tokens", "total_tokens")

TASKS_SCHEMA = {
    "nickname": pl.String(),
    "label": pl.String(),
    "_ng_task_index": pl.Int64(),
    "shard": pl.Int64(),
    "source": pl.String(),
    "source_row": pl.Int64(),
    "content_hash": pl.String(),
    **{f"{block}/{column}": pl.Float64() for column in _SHARED_COLUMNS for block in BLOCKS},
    "num_rollouts": pl.Int64(),
    "expected_num_rollouts": pl.Int64(),
    "missing_num_rollouts": pl.Int64(),
    "reward_profile_completion_pct": pl.Float64(),
    "num_masked": pl.Int64(),
    "complete": pl.Boolean(),
    "simulated": pl.Boolean(),
}
"""The columns that environments have in common; those of one verifier alone are in the environment's own table."""


@dataclass(frozen=True)
class Catalog:
    """`environments` has the summary rows of all sweeps and `sweep_path`; so has the Parquet file.

    The database has the tables `environments` (the same) and `tasks` (`TASKS_SCHEMA`).
    """

    environments: pl.DataFrame
    parquet: Path
    database: Path


def is_profiled(sweep: SweepDir) -> bool:
    """Whether the sweep has a profile that a catalog can take in."""
    return summary_path(sweep).exists()


def build_catalog(sweeps: Sequence[SweepDir], directory: Path) -> Catalog:
    """Write `catalog.parquet` and `catalog.duckdb` in `directory`, each atomically, from the profiles of `sweeps`.

    Raises `SweepError` for a sweep whose profile is missing, unreadable or half replaced, and for two of one nickname.
    """
    nicknames = Counter(sweep.nickname for sweep in sweeps)
    for sweep in sweeps:
        if nicknames[sweep.nickname] > 1:
            raise SweepError(
                f"two sweeps are named {sweep.nickname}", place=str(sweep.path), cure="leave one of them out"
            )
    summaries = [_summary(sweep) for sweep in sweeps]
    schema = {**SUMMARY_SCHEMA, "sweep_path": pl.String()}
    environments = pl.concat([pl.DataFrame(schema=schema), *summaries])
    catalog = Catalog(environments, directory / "catalog.parquet", directory / "catalog.duckdb")
    with new_database(catalog.database) as connection:
        _fill(connection, "environments", environments)
        _fill(connection, "tasks", pl.DataFrame(schema=TASKS_SCHEMA))
        for sweep, summary in zip(sweeps, summaries, strict=True):
            for label in summary["label"]:
                _append(connection, "tasks", _tasks(sweep, label, summary["profiled_at"][0]))
    with atomic_path(catalog.parquet) as temporary:
        pq.write_table(environments.to_arrow(), temporary)
    return catalog


def _summary(sweep: SweepDir) -> pl.DataFrame:
    path = summary_path(sweep)
    summary, _ = read_stamped(path)
    if dict(summary.schema) != SUMMARY_SCHEMA:
        raise SweepError("the summary is of another version", place=str(path), cure="profile the sweep again")
    return summary.with_columns(sweep_path=pl.lit(str(sweep.path.resolve())))


def _tasks(sweep: SweepDir, label: str, profiled_at: str) -> pl.DataFrame:
    path = table_path(sweep, label)
    table, metadata = read_stamped(path)
    if metadata.get("profiled_at") != profiled_at:
        raise SweepError(
            f"the table was profiled at {metadata.get('profiled_at')}, the summary at {profiled_at}",
            place=str(path),
            cure="profile the sweep again",
        )
    table = table.with_columns(nickname=pl.lit(sweep.nickname))
    return table.select(
        pl.col(name).cast(kind) if name in table.columns else pl.lit(None, kind).alias(name)
        for name, kind in TASKS_SCHEMA.items()
    )


def _fill(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    connection.register("incoming", rows.to_arrow())
    connection.execute(f"CREATE TABLE {table} AS SELECT * FROM incoming")  # noqa: S608 - names of ours
    connection.unregister("incoming")


def _append(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    connection.register("incoming", rows.to_arrow())
    connection.execute(f"INSERT INTO {table} SELECT * FROM incoming")  # noqa: S608 - names of ours
    connection.unregister("incoming")
