"""Profiles: of one sweep, and the catalog, which brings up to date what lacks rollouts. Partial is never complete."""

from collections.abc import Sequence

import dagster as dg
import duckdb
import polars as pl
import pytest

from reward_profiling.profile.catalog import is_profiled
from reward_profiling.sweep.layout import SweepDir
from reward_profiling_tests.sweeps import append, keys_of_shard, rollout
from reward_profiling_tests.unit.dagster.location import Location, collect_into, events, failure_text, write_manifest


def fill(sweep: SweepDir, shards: Sequence[int] = (0, 1, 2)) -> None:
    for number in shards:
        collect_into(sweep.shard(number), 100)


def materialized(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization]:
    found = (each.materialization for each in events(result, dg.DagsterEventType.ASSET_MATERIALIZATION))
    return {each.asset_key.to_user_string(): each for each in found}


def checked(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {
        each.asset_key.to_user_string(): each.passed
        for each in events(result, dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    }


def test_a_complete_profile_says_so_everywhere(location: Location) -> None:
    location.prepare()
    fill(location.sweep.directory)
    result = location.materialize("tiny/profiles")
    assert result.success and checked(result) == {"tiny/profiles": True}
    values = {key: value.value for key, value in materialized(result)["tiny/profiles"].metadata.items()}
    assert (values["complete"], values["simulated"], values["dagster/row_count"]) == (True, False, 1)
    assert values["state"] == "all 10 rollouts are done"
    assert values["manifest_digest"] == location.sweep.digest
    assert "| alpha | complete | 1 | 100.0% | 100.0% | 0.0% | 0.0% | 5 | 10 | 0 | 0 | 0 |" in values["environments"]
    assert pl.read_parquet(values["summary"])["mean_reward"].to_list() == [1.0]


def test_a_partial_profile_is_welcome_and_never_shown_as_complete(location: Location) -> None:
    location.prepare()
    fill(location.sweep.directory, [0])
    result = location.materialize("tiny/profiles")
    assert result.success and checked(result) == {"tiny/profiles": False}
    values = {key: value.value for key, value in materialized(result)["tiny/profiles"].metadata.items()}
    assert values["complete"] is False
    assert values["state"] == "PARTIAL: 6 of 10 rollouts are outstanding"
    assert "| alpha | PARTIAL |" in values["environments"]


def test_simulated_rollouts_are_marked(location: Location) -> None:
    location.prepare()
    fill(location.sweep.directory, [0, 1])
    shard = location.sweep.directory.shard(2)
    append(shard.rollouts, *(rollout(key, _simulated=True) for key in keys_of_shard(shard)))
    values = {
        key: value.value
        for key, value in materialized(location.materialize("tiny/profiles"))["tiny/profiles"].metadata.items()
    }
    assert values["simulated"] is True
    assert values["state"].endswith("(simulated)") and "| alpha | complete, simulated |" in values["environments"]


def test_a_manifest_can_refuse_partial_profiles(empty_location: Location) -> None:
    write_manifest(empty_location.root / "manifests", gym_eval_profile={"allow_partial_rollouts": False})
    empty_location.prepare()
    fill(empty_location.sweep.directory, [0])
    assert "6 rollouts are outstanding" in failure_text(empty_location.materialize("tiny/profiles"))
    assert empty_location.materialize("profiles").success
    assert not is_profiled(empty_location.sweep.directory)


def test_the_catalog_refreshes_what_has_new_rollouts_and_records_it_there(location: Location) -> None:
    write_manifest(location.root / "manifests", "other")
    location.prepare()
    tiny, other = (SweepDir(location.root / "sweeps" / name) for name in ("tiny", "other"))
    fill(tiny)
    fill(other, [0])
    result = location.materialize("profiles")
    assert result.success
    assert set(materialized(result)) == {"profiles", "tiny/profiles", "other/profiles"}
    assert checked(result) == {"tiny/profiles": True, "other/profiles": False}
    values = {key: value.value for key, value in materialized(result)["profiles"].metadata.items()}
    assert (values["dagster/row_count"], values["sweeps"], values["partial_sweeps"]) == (2, 2, "other")
    with duckdb.connect(values["database"], read_only=True) as connection:
        rows = connection.execute("SELECT nickname, complete, outstanding FROM environments ORDER BY nickname")
        assert rows.fetchall() == [("other", False, 6), ("tiny", True, 0)]

    again = location.materialize("profiles")
    assert set(materialized(again)) == {"profiles"}

    fill(other)
    third = location.materialize("profiles")
    assert set(materialized(third)) == {"profiles", "other/profiles"}
    assert checked(third) == {"other/profiles": True}


def test_the_catalog_leaves_out_sweeps_of_which_nothing_is_there(location: Location) -> None:
    write_manifest(location.root / "manifests", "later")
    result = location.materialize("profiles")
    assert result.success
    location.prepare()
    result = location.materialize("profiles")
    assert result.success and set(materialized(result)) == {"profiles"}
    assert materialized(result)["profiles"].metadata["dagster/row_count"].value == 0
    assert not is_profiled(location.sweeps[0].directory)


def test_a_sweep_that_cannot_be_profiled_is_named_and_does_not_stop_the_others(location: Location) -> None:
    write_manifest(location.root / "manifests", "other")
    location.prepare()
    tiny, other = (SweepDir(location.root / "sweeps" / name) for name in ("tiny", "other"))
    fill(tiny)
    fill(other)
    other.tasks.unlink()
    result = location.materialize("profiles")
    text = failure_text(result)
    assert text.startswith("other is left out: ") and "the task table is missing" in text and "\n" not in text
    assert set(materialized(result)) == {"profiles", "tiny/profiles"}
    assert pl.read_parquet(location.root / "sweeps" / "catalog.parquet")["nickname"].to_list() == ["tiny"]


@pytest.mark.parametrize("asset", ["tiny/profiles", "profiles"])
def test_data_versions_change_with_the_numbers_only(location: Location, asset: str) -> None:
    location.prepare()
    fill(location.sweep.directory, [0])

    def version() -> str:
        tags = materialized(location.materialize(asset))[asset].tags or {}
        return tags["dagster/data_version"]

    first = version()
    assert version() == first
    fill(location.sweep.directory)
    assert version() != first
