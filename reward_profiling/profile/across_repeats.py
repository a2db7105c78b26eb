"""How the mean of each column varies from repeat to repeat (Gym contract 6.8).

Promise: the `*_across_repeats/mean/*` keys of an agent object, in Gym's order.
"""

from collections.abc import Sequence

import numpy as np

from reward_profiling.profile.intervals import estimate_mean
from reward_profiling.profile.repeat_rows import RepeatRow

# Gym takes columns that end like this for statistics of a server, not for measurements.
_LEFT_OUT = (
    "/max",
    "/min",
    "/median",
    "/p5",
    "/p25",
    "/p75",
    "/p95",
    "/ci_low_95",
    "/ci_high_95",
    "/ci_lower",
    "/ci_upper",
    "_ci_lower",
    "_ci_upper",
    "_ci95_lower",
    "_ci95_upper",
    "/_ng_attempt_index",
    "/std_dev_across_runs",
    "/std_err_across_runs",
    "/avg_sample_std_dev",
)
_MEAN = "mean/"


def mean_keys(rows: Sequence[RepeatRow]) -> list[str]:
    """The observed keys `mean/<column>` in the order of their first appearance over the repeat rows of all labels."""
    keys = dict.fromkeys(key for row in rows for key in row if key.startswith(_MEAN))
    return [key for key in keys if not key.endswith(_LEFT_OUT)]


def across_repeats(rows: Sequence[RepeatRow], keys: Sequence[str]) -> dict[str, float]:
    """The block of one label, whose repeat rows are `rows`, for the observed `keys`."""
    block: dict[str, float] = {}
    for key in keys:
        means = np.array([row[key] for row in rows if key in row], dtype=np.float64)
        if not len(means):
            continue
        estimate = estimate_mean(means)
        tail = f"_across_repeats/{key}"
        block |= {
            f"mean{tail}": estimate.mean,
            f"median{tail}": float(np.median(means)),
            f"std{tail}": estimate.std,
            f"min{tail}": float(means.min()),
            f"max{tail}": float(means.max()),
            f"se{tail}": estimate.standard_error,
        }
        if estimate.low is not None and estimate.high is not None:
            block |= {f"ci_low_95{tail}": estimate.low, f"ci_high_95{tail}": estimate.high}
    return block
