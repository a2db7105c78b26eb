"""A drop-in for `gym eval profile` (Gym contract 6).

Promise: the same three files under the same names, with the same keys in the same order, the same types and numbers
equal to 1e-9, or one line that says why not and no file touched. Gym's aborts on its unused histogram are not inherited
(Gym contract 6.10). Memory goes with the number of rollouts (some 200 bytes each), not with the size of their rows.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from reward_profiling.files import atomic_file
from reward_profiling.profile.agent_objects import agent_objects
from reward_profiling.profile.alignment import check_alignment
from reward_profiling.profile.completion import Completion, completion
from reward_profiling.profile.coverage import coverage
from reward_profiling.profile.group_rows import group_rows
from reward_profiling.profile.grouping import group
from reward_profiling.profile.gym_files import KEY, read_rollouts, read_work_list
from reward_profiling.profile.labels import is_fanned_out, with_labels
from reward_profiling.profile.number_table import NumberTable
from reward_profiling.profile.repeat_rows import repeat_rows
from reward_profiling.sweep.numbers import is_masked


@dataclass(frozen=True)
class ProfileFiles:
    """Where the profile of a rollout file lies: beside it, named after it without its last suffix."""

    groups: Path
    agents: Path
    repeats: Path

    @classmethod
    def beside(cls, rollouts: Path) -> "ProfileFiles":
        return cls(
            rollouts.with_name(f"{rollouts.stem}_reward_profiling.jsonl"),
            rollouts.with_name(f"{rollouts.stem}_agent_metrics.json"),
            rollouts.with_name(f"{rollouts.stem}_repeat_level_metrics.json"),
        )


@dataclass(frozen=True)
class ProfileOutcome:
    """What was profiled and where it was written."""

    completion: Completion
    files: ProfileFiles


def profile_files(inputs: Path, rollouts: Path, *, allow_partial: bool) -> ProfileOutcome:
    """Profile the rollouts of a work list as `gym eval profile --inputs --rollouts` does.

    Writes three files beside `rollouts`, each atomically. Raises `RolloutsError` with file and line for what Gym
    refuses: a line that is no JSON object, a duplicate or foreign key, a missing rollout unless `allow_partial`.
    """
    work = read_work_list(inputs)
    results = read_rollouts(rollouts)
    check_alignment(work, results, inputs=inputs, results=rollouts, allow_partial=allow_partial)
    results = results.with_columns(masked=is_masked(results["numbers"]))
    counts = completion(with_labels(work), results)

    masked = results.filter("masked")
    coverages = coverage(results.join(work.select(*KEY, "agent"), on=KEY))
    work = with_labels(work.join(masked, on=KEY, how="anti", maintain_order="left"))
    fanned_out = is_fanned_out(work)
    measured = (
        results.filter(~pl.col("masked"))
        .select(*KEY, "numbers")
        .join(work.select(*KEY, "label", "offset"), on=KEY)
        .sort(KEY)
    )
    del results

    by = ["task_index", "label"] if fanned_out else ["task_index"]
    table = NumberTable.from_records(measured["numbers"])
    labels = group(measured.select(*KEY, "label"), ["label"])
    repeats = list(repeat_rows(table, labels))
    agents = agent_objects(table, labels, repeats, coverages)
    expected = work.group_by(by).agg(pl.len().alias("expected"))
    rows = group_rows(table, group(measured, by), expected, inputs, fanned_out=fanned_out)
    files = ProfileFiles.beside(rollouts)
    _write(files, rows, agents, repeats)
    return ProfileOutcome(counts, files)


def _write(files: ProfileFiles, rows: Iterator[dict[str, Any]], agents: Iterable[Any], repeats: Iterable[Any]) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(atomic_file(path)) for path in (files.groups, files.agents, files.repeats)]
        streams[1].write(orjson.dumps(list(agents)))
        streams[2].write(orjson.dumps(list(repeats)))
        for row in rows:
            streams[0].write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
