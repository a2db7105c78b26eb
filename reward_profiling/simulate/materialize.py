"""The slow path of `eval run`: a work list from `--input` (Gym contract 4).

Promise: rows keep their order, the repeats of a row are adjacent, textually identical lines share one task index, and
the two index keys come last. What an earlier run left under the same names is removed first (contract 3.2).
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import orjson

from reward_profiling import files
from reward_profiling.errors import RewardProfilingError
from reward_profiling.simulate.outputs import Outputs, json_lines


def start_over(outputs: Outputs, source: Path, *, repeats: int, limit: int | None) -> None:
    """Write the work list anew and remove output, sidecar and aggregate file; the output starts empty."""
    if not source.is_file():
        raise RewardProfilingError("no such input file", place=str(source))
    outputs.rollouts.parent.mkdir(parents=True, exist_ok=True)
    for path in (outputs.rollouts, outputs.failures, outputs.aggregate):
        path.unlink(missing_ok=True)
    with files.atomic_file(outputs.work_list) as stream:
        for line in _materialized(source, repeats, limit):
            stream.write(line)
    outputs.rollouts.touch()


def _materialized(source: Path, repeats: int, limit: int | None) -> Iterator[bytes]:
    indices: dict[bytes, int] = {}
    rollouts: Counter[int] = Counter()
    for line, row in islice(json_lines(source), limit):
        task = row.pop("_ng_task_index", None)
        if task is None:
            task = indices.setdefault(line.strip(), len(indices))
        row.pop("_ng_rollout_index", None)
        for _ in range(repeats):
            keys = {"_ng_task_index": task, "_ng_rollout_index": rollouts[task]}
            rollouts[task] += 1
            yield orjson.dumps(row | keys, option=orjson.OPT_APPEND_NEWLINE)
