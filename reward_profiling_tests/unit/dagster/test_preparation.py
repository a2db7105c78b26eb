"""Materializing `manifest`, `tasks` and `shards`: what is written, and what stands on it in Dagster."""

from typing import Any

import dagster as dg
import orjson
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.loader import LoadingContextForTest

from reward_profiling.sweep.report import read_report
from reward_profiling_tests.unit.dagster.location import Location, events, failure_text, write_manifest

PREPARATION = ("tiny/manifest", "tiny/tasks", "tiny/shards")


def made(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str | None], dg.AssetMaterialization]:
    found = (each.materialization for each in events(result, dg.DagsterEventType.ASSET_MATERIALIZATION))
    return {(each.asset_key.path[-1], each.partition): each for each in found}


def values(materialization: dg.AssetMaterialization) -> dict[str, Any]:
    return {key: value.value for key, value in materialization.metadata.items()}


def test_one_run_prepares_a_sweep(location: Location) -> None:
    result = location.materialize(*PREPARATION, shards=[0, 1, 2])
    assert result.success
    found = made(result)
    directory, digest = location.sweep.directory, location.sweep.digest

    manifest = found["manifest", None]
    assert manifest.tags is not None and manifest.tags["dagster/data_version"] == digest
    assert manifest.tags["dagster/code_version"] == digest
    assert "| num_shards | 3 | manifest |" in values(manifest)["settings"]

    tasks = values(found["tasks", None])
    assert (tasks["dagster/row_count"], tasks["rollouts_expected"]) == (5, 10)
    assert {"task_index", "label"} <= {column.name for column in tasks["dagster/column_schema"].columns}
    assert tasks["manifest_digest"] == digest == read_report(directory).manifest_digest
    assert tasks["snapshot"] == str(directory.manifest) and directory.manifest.is_file()
    assert directory.sweep_config.is_file()

    for number, rollouts in enumerate((4, 4, 2)):
        shard = values(found["shards", f"shard_{number:03d}"])
        assert shard["dagster/row_count"] == rollouts
        lines = directory.shard(number).work_list.read_bytes().splitlines()
        assert {orjson.loads(line)["_ng_task_index"] % 3 for line in lines} == {number}
        assert len(lines) == rollouts


def test_lineage_leads_back_to_the_digest(location: Location) -> None:
    found = made(location.materialize(*PREPARATION, shards=[0, 1, 2]))
    for key in (("tasks", None), ("shards", "shard_001")):
        tags = found[key].tags or {}
        assert tags["dagster/input_data_version/tiny/manifest"] == location.sweep.digest


def _stale(location: Location) -> dict[str, str]:
    """What the UI says of each asset of the sweep."""
    graph = location.definitions().resolve_asset_graph()
    resolver = CachingStaleStatusResolver(location.instance, graph, LoadingContextForTest(location.instance))
    keys = [location.sweep.key(name) for name in ("manifest", "tasks")]
    return {key.path[-1]: resolver.get_status(key).value for key in keys}


def test_what_lies_below_a_changed_manifest_turns_stale(location: Location) -> None:
    assert location.materialize(*PREPARATION, shards=[0, 1, 2]).success
    assert set(_stale(location).values()) == {"FRESH"}
    write_manifest(location.root / "manifests", sbatch={"qos": "high"})
    assert location.materialize(PREPARATION[0]).success
    assert _stale(location) == {"manifest": "FRESH", "tasks": "STALE"}


def test_a_changed_manifest_is_materialized_anew_while_nothing_was_collected(location: Location) -> None:
    assert location.materialize(*PREPARATION, shards=[0, 1, 2]).success
    write_manifest(location.root / "manifests", num_shards=2)
    assert location.materialize(*PREPARATION, shards=[0, 1]).success
    assert read_report(location.sweep.directory).num_shards == 2


def test_a_change_that_would_redeal_collected_rollouts_is_refused_in_one_line(location: Location) -> None:
    location.prepare()
    assert location.materialize("tiny/rollouts", shards=[0]).success
    before = location.sweep.directory.manifest.read_bytes()
    write_manifest(location.root / "manifests", num_shards=2)
    text = failure_text(location.materialize("tiny/manifest", "tiny/tasks"))
    assert "number of shards from 3 to 2" in text and "\n" not in text
    # Jobs run from the snapshot: what was refused must not reach them.
    assert location.sweep.directory.manifest.read_bytes() == before


@pytest.mark.parametrize("asset", ["shards", "rollouts"])
@pytest.mark.parametrize("partitions", [2, 4])
def test_partitions_that_are_not_the_shards_there_are_are_refused(
    location: Location, asset: str, partitions: int
) -> None:
    location.prepare()
    write_manifest(location.root / "manifests", num_shards=partitions)
    text = failure_text(location.materialize(f"tiny/{asset}", shards=[0, 1]))
    assert f"the tasks are dealt over 3 shards, and the manifest says {partitions}" in text
    assert "tiny.yaml:1:" in text and "say num_shards: 3" in text and not location.scheduler.jobs


def test_a_missing_dataset_is_refused_with_its_place(location: Location) -> None:
    (location.root / "manifests" / "data" / "alpha.jsonl").unlink()
    text = failure_text(location.materialize("tiny/manifest"))
    assert "tiny.yaml:1:" in text and "alpha.jsonl" in text and "\n" not in text
