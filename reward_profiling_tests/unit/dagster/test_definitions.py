"""The code location loads whatever the manifests are like, and shows what is wrong with those that do not load."""

from pathlib import Path

import dagster as dg
import pytest

from reward_profiling.assets import sweep as sweep_module
from reward_profiling.definitions import build
from reward_profiling_tests.unit.dagster.location import Location, failure_text, write_manifest

ASSETS = ["manifest", "tasks", "shards", "rollouts", "profiles"]


def specs(location: Location) -> dict[str, dg.AssetSpec]:
    definitions = location.definitions()
    dg.Definitions.validate_loadable(definitions)
    return {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}


def test_each_manifest_has_a_group_and_a_key_prefix_of_its_own(location: Location) -> None:
    write_manifest(location.root / "manifests", "second-run.1", num_shards=7)
    found = specs(location)
    sweeps = {key for key in found if "/" in key}
    assert sweeps == {f"{nickname}/{name}" for nickname in ("tiny", "second-run.1") for name in ASSETS}
    assert {found[f"second-run.1/{name}"].group_name for name in ASSETS} == {"second_run_1"}
    partitions = found["second-run.1/rollouts"].partitions_def
    assert partitions is not None
    assert list(partitions.get_partition_keys()) == [f"shard_{number:03d}" for number in range(7)]


def test_every_asset_below_the_manifest_depends_on_it(location: Location) -> None:
    found = specs(location)
    manifest = dg.AssetKey(["tiny", "manifest"])
    for name in ASSETS:
        if name != "manifest":
            assert manifest in {dep.asset_key for dep in found[f"tiny/{name}"].deps}, name


def test_a_manifest_that_does_not_load_is_shown_and_takes_nothing_down(location: Location) -> None:
    (location.root / "manifests" / "my broken.yaml").write_text("nickname: x\nentries: [\n")
    found = specs(location)
    assert "tiny/rollouts" in found
    assert "my broken.yaml:3:1: " in (found["my_broken/manifest"].description or "")
    text = failure_text(location.materialize("my_broken/manifest"))
    assert "my broken.yaml:3:1: " in text and "\n" not in text


def test_a_broken_manifest_does_not_take_the_name_of_a_good_one(location: Location) -> None:
    write_manifest(location.root / "manifests", "clash", name="a.yaml")
    (location.root / "manifests" / "clash.yaml").write_text("nickname: []\n")
    (location.root / "manifests" / "catalog.yaml").write_text("nickname: []\n")
    found = specs(location)
    assert found["clash/manifest"].group_name == "clash"
    assert found["clash_2/manifest"].group_name == "clash_2"
    assert found["catalog_2/manifest"].group_name == "catalog_2"


@pytest.mark.parametrize(("first", "second"), [("one", "one"), ("one-1", "one.1")])
def test_the_second_of_two_nicknames_that_dagster_cannot_tell_apart_is_shown_as_broken(
    empty_location: Location, first: str, second: str
) -> None:
    folder = empty_location.root / "manifests"
    write_manifest(folder, first, name="a.yaml")
    write_manifest(folder, second, name="b.yaml")
    found = specs(empty_location)
    assert f"{first}/rollouts" in found and "b/manifest" in found
    description = found["b/manifest"].description or ""
    assert "b.yaml:1:" in description and f"{folder / 'a.yaml'} has the nickname {first} already" in description


def test_a_defect_met_while_reading_a_manifest_takes_nothing_down(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_manifest(location.root / "manifests", "odd")
    honest = sweep_module.load_manifest

    def load(path: Path, **arguments: object) -> object:
        if path.name == "odd.yaml":
            raise RecursionError("too\ndeep")
        return honest(path, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(sweep_module, "load_manifest", load)
    found = specs(location)
    assert "odd.yaml: reading it ended in RecursionError: too deep" in (found["odd/manifest"].description or "")


def test_manifests_in_subfolders_are_not_read(location: Location) -> None:
    (location.root / "manifests" / "data" / "nested.yaml").write_text("nickname: [\n")
    assert not any(key.startswith("nested") for key in specs(location))


def test_a_folder_without_manifests_still_loads(tmp_path: Path) -> None:
    definitions = build({"REWARD_PROFILING_MANIFESTS_DIR": str(tmp_path / "none")})
    dg.Definitions.validate_loadable(definitions)


def test_importing_the_module_reads_no_manifest() -> None:
    from reward_profiling import definitions

    assert not isinstance(definitions.defs, dg.Definitions)
