"""Profile tables on disk: Parquet in row groups, each saying where it comes from.

Promise: a table is written whole or not at all, and its stamp (nickname, manifest digest, time, complete, simulated)
stands in the file's own metadata, where any reader of Parquet finds it.
"""

from dataclasses import asdict
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from reward_profiling.errors import SweepError
from reward_profiling.files import atomic_path
from reward_profiling.profile.sweep_inputs import Stamp

_ROW_GROUP_ROWS = 50_000


def write_stamped(path: Path, table: pl.DataFrame, stamp: Stamp, *, complete: bool, simulated: bool) -> None:
    """Write `table` atomically; `complete` and `simulated` are of what the whole table speaks about."""
    flags = {"complete": str(complete).lower(), "simulated": str(simulated).lower()}
    arrow = table.to_arrow().replace_schema_metadata({**asdict(stamp), **flags})
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, arrow.schema, compression="zstd") as writer:
        writer.write_table(arrow, row_group_size=_ROW_GROUP_ROWS)


def read_stamped(path: Path) -> tuple[pl.DataFrame, dict[str, str]]:
    """The table and its metadata; `SweepError` when it is missing or no readable Parquet."""
    try:
        arrow = pq.read_table(path)
    except FileNotFoundError as error:
        raise SweepError("there is no profile", place=str(path), cure="profile the sweep first") from error
    except (OSError, pa.ArrowException) as error:
        raise SweepError("the profile cannot be read", place=str(path), cure="profile the sweep again") from error
    metadata = {key.decode(): value.decode() for key, value in (arrow.schema.metadata or {}).items()}
    return pl.DataFrame(arrow), metadata
