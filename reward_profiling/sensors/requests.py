"""From shards that need a job to the runs that are requested for them.

Promise: neighbouring shards share one run; the same need gives the same run key, so it is requested once. A request
whose run died before it made an attempt is repeated, but not within the same hour.
"""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from reward_profiling.assets.rollouts import SWEEP_TAG
from reward_profiling.assets.sweep import Sweep
from reward_profiling.sweep.layout import shard_name

_RANGE_START, _RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
_REPEAT_SECONDS = 3600.0


def requests(sweep: Sweep, attempts: Mapping[int, int], now: float) -> Iterator[dg.RunRequest]:
    """One run request per unbroken range of shards.

    `attempts` gives each shard's next attempt number, `now` is in Unix seconds.
    """
    for numbers in _ranges(sorted(attempts)):
        first, last = shard_name(numbers[0]), shard_name(numbers[-1])
        counted = ".".join(str(attempts[number]) for number in numbers)
        yield dg.RunRequest(
            run_key=f"{sweep.nickname} {first}..{last} attempt {counted} hour {int(now // _REPEAT_SECONDS)}",
            asset_selection=[sweep.key("rollouts")],
            partition_key=first if first == last else None,
            tags={SWEEP_TAG: sweep.nickname} | ({} if first == last else {_RANGE_START: first, _RANGE_END: last}),
        )


def _ranges(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Runs of consecutive numbers."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run
