"""One object per label and repeat: how each column did over the tasks at that repeat (Gym contract 6.7).

Promise: the content of `_repeat_level_metrics.json`; labels with a single repeat have no objects.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_profiling.profile.grouping import Groups
from reward_profiling.profile.intervals import estimate_mean
from reward_profiling.profile.number_table import NumberTable

RepeatRow = dict[str, Any]


def repeat_rows(table: NumberTable, labels: Groups) -> Iterator[RepeatRow]:
    """The objects of every label of `labels` (rollouts grouped by `label`), by label, then by repeat."""
    names = sorted(table.columns)
    for label, members in zip(labels.keys["label"], labels.slices(), strict=True):
        tasks = labels.members["task_index"][members].n_unique()
        repeats = labels.members["rollout_index"][members].to_numpy()
        rows = labels.rows[members]
        indices = np.unique(repeats)
        for index in indices.tolist() if len(indices) > 1 else ():
            here = rows[repeats == index]
            row = {
                "agent_ref": {"name": label},
                "_ng_rollout_index": index,
                "sample_count": len(here),
                "missing_count": tasks - len(here),
            }
            for name in names:
                row |= _describe(name, table.columns[name][here].astype(np.float64))
            yield row


def _describe(name: str, with_gaps: NDArray[np.float64]) -> dict[str, float]:
    values = with_gaps[~np.isnan(with_gaps)]
    if not len(values):
        return {}
    estimate = estimate_mean(values)
    p25, p75 = np.percentile(values, [25, 75]).tolist()
    described = {
        f"mean/{name}": estimate.mean,
        f"median/{name}": float(np.median(values)),
        f"std/{name}": estimate.std,
        f"sem/{name}": estimate.standard_error,
        f"min/{name}": float(values.min()),
        f"max/{name}": float(values.max()),
        f"p25/{name}": p25,
        f"p75/{name}": p75,
    }
    if estimate.low is not None and estimate.high is not None:
        described |= {f"ci_low_95/{name}": estimate.low, f"ci_high_95/{name}": estimate.high}
    return described
