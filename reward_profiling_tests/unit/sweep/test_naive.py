"""What the benchmark compares with makes the same sweep, so that the ratio compares like with like."""

from pathlib import Path

import orjson

from reward_profiling.sweep.materialize import materialize
from reward_profiling_tests.bench.plane import data, naive
from reward_profiling_tests.bench.plane.data import Size


def test_ours_and_the_straightforward_way_agree(tmp_path: Path) -> None:
    size = Size(entries=3, tasks=5, repeats=2, shards=4, row_bytes=2000)
    data.write_datasets(tmp_path, size)
    request = data.request(tmp_path, size)
    materialize(request, tmp_path / "sweeps")
    datasets = [data.dataset(tmp_path, number) for number in range(size.entries)]
    labels = [plan.label for plan in request.entries]
    naive.materialize(datasets, labels, size.repeats, size.shards, tmp_path / "naive")
    for number in range(size.shards):
        ours = data.sweep(tmp_path).shard(number).work_list.read_bytes().splitlines()
        theirs = (tmp_path / "naive" / f"shard_{number}.jsonl").read_bytes().splitlines()
        assert [orjson.loads(line) for line in ours] == [orjson.loads(line) for line in theirs]
