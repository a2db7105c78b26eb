"""Is everything that was set aside by a change of layout still in the sweep?"""

import polars as pl

from reward_profiling.files import read_json_lines
from reward_profiling.sweep.carry import shards_of
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.findings import Check, some
from reward_profiling.sweep.scan import digest, scan
from reward_profiling.sweep.snapshots import Snapshot, owed_snapshots

_KEY = ["task_index", "rollout_index"]
_LINE = [*_KEY, "digest"]


def check_snapshots(plan: Plan, rollouts: pl.DataFrame, failures: pl.DataFrame) -> Check:
    """`rollouts` and `failures` (`task_index`, `rollout_index`, `digest`) are what the sweep holds."""
    made = Check("snapshots", "every rollout and every failed attempt of a snapshot is still there, byte for byte")
    held, rejected = _numbered(failures), _rejected(plan)
    for snapshot in owed_snapshots(plan.sweep):
        collected = _read(snapshot, "rollouts.jsonl")
        found = collected.join(rollouts, on=_LINE, how="semi")
        _expect(made, snapshot, "rollouts", collected, collected.join(found, on=_KEY, how="anti").unique(_KEY))
        failed = _read(snapshot, "rollouts_failures.jsonl")
        lost = failed.join(held, on=[*_LINE, "number"], how="anti").filter(~pl.col("digest").is_in(rejected))
        _expect(made, snapshot, "failed attempts", failed, lost)
    return made


def _expect(made: Check, snapshot: Snapshot, what: str, rows: pl.DataFrame, lost: pl.DataFrame) -> None:
    made.look(rows.height)
    if lost.height:
        names = some((f"{task}:{rollout}" for task, rollout in lost.select(_KEY).iter_rows()), lost.height)
        made.find(snapshot.path, f"{lost.height} {what} are not in the sweep any more: {names}")


def _read(snapshot: Snapshot, name: str) -> pl.DataFrame:
    """The rows of all files of this name in a snapshot; a line that lies in several files is one."""
    empty = pl.DataFrame(schema={"task_index": pl.Int64(), "rollout_index": pl.Int64(), "digest": pl.UInt64()})
    files = [snapshot.path / name, *sorted(snapshot.path.glob(f"shards/shard_*/{name}"))]
    return pl.concat(_numbered(rows) for rows in (empty, *(scan(path).rows.select(_LINE) for path in files))).unique()


def _rejected(plan: Plan) -> pl.Series:
    """Digests of the lines that were put aside with a reason."""
    shards = shards_of(plan)
    lines = [str(record.get("line")) for shard in shards for record in read_json_lines(shard.rejected)]
    return pl.Series([digest(line.removesuffix("\n").encode()) for line in lines], dtype=pl.UInt64())


def _numbered(rows: pl.DataFrame) -> pl.DataFrame:
    """Lines that are the same, as failed attempts may be, are told apart by a number."""
    return rows.with_columns(number=pl.int_range(pl.len()).over(_LINE))
