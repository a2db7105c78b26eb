"""The straightforward way to materialize a sweep, written to compare with: decode, encode, parts, concatenate, deal."""

import copy
import json
import os
import shutil
from pathlib import Path
from typing import IO


def materialize(datasets: list[Path], labels: list[str], repeats: int, shards: int, folder: Path) -> int:
    """Write the work lists of `shards` shards under `folder`; returns their bytes."""
    folder.mkdir(parents=True)
    for dataset in datasets:
        _validate(dataset)
    parts, task = [], 0
    for label, dataset in zip(labels, datasets, strict=True):
        parts.append(folder / f"{label}.part")
        task = _expand(dataset, label, repeats, task, parts[-1])
    whole = folder / "whole.jsonl"
    with whole.open("wb") as target:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, target)
        _sync(target)
    return _deal(whole, [folder / f"shard_{number}.jsonl" for number in range(shards)])


def _validate(dataset: Path) -> None:
    with dataset.open(encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            assert row["agent_ref"]["name"]
            assert isinstance(row["responses_create_params"], dict)


def _expand(dataset: Path, label: str, repeats: int, task: int, part: Path) -> int:
    with dataset.open(encoding="utf-8") as source, part.open("w", encoding="utf-8") as target:
        for line in source:
            row = json.loads(line)
            for repeat in range(repeats):
                made = copy.deepcopy(row)
                made["_ng_sweep_label"] = label
                made["_ng_task_index"] = task
                made["_ng_rollout_index"] = repeat
                target.write(json.dumps(made, ensure_ascii=False) + "\n")
            task += 1
        _sync(target)
    return task


def _deal(whole: Path, shards: list[Path]) -> int:
    targets = [path.open("w", encoding="utf-8") for path in shards]
    with whole.open(encoding="utf-8") as source:
        for line in source:
            row = json.loads(line)
            targets[row["_ng_task_index"] % len(targets)].write(json.dumps(row, ensure_ascii=False) + "\n")
    for target in targets:
        _sync(target)
        target.close()
    return sum(path.stat().st_size for path in shards)


def _sync(stream: IO[bytes] | IO[str]) -> None:
    stream.flush()
    os.fsync(stream.fileno())
