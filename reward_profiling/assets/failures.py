"""What a person reads when a materialization is refused: the one line of the error."""

import contextlib
from collections.abc import Iterator

import dagster as dg

from reward_profiling.errors import RewardProfilingError


@contextlib.contextmanager
def one_line() -> Iterator[None]:
    """Turn an error of this package into a Dagster failure with its text. It is not retried: nothing would change."""
    try:
        yield
    except RewardProfilingError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from None
