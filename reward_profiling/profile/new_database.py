"""A DuckDB file that is either the old one or the whole new one.

Promise: what stands under the final name holds everything that was written to it; DuckDB's refusals become
`StorageError`, and no write-ahead log stays behind.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import duckdb

from reward_profiling.errors import StorageError
from reward_profiling.files import atomic_path


@contextlib.contextmanager
def new_database(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to an empty database that becomes `path` when the block ends cleanly."""
    with atomic_path(path) as temporary:
        try:
            with duckdb.connect(temporary) as connection:
                yield connection
                # Closing writes everything out too, but says nothing when it cannot.
                connection.execute("CHECKPOINT")
        except (duckdb.IOException, duckdb.FatalException) as error:
            reason = str(error).splitlines()[0]
            raise StorageError(reason, place=str(path), cure="free space on this file system and run again") from error
        finally:
            temporary.with_name(f"{temporary.name}.wal").unlink(missing_ok=True)
