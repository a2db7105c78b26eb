"""Fixtures of the Dagster rooms: a location with one sweep, `tiny`, whose jobs collect everything at once."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from reward_profiling_tests.unit.dagster.location import Location, MemoryScheduler, collect, write_manifest


@pytest.fixture
def empty_location(tmp_path: Path) -> Iterator[Location]:
    """No manifest yet."""
    (tmp_path / "manifests").mkdir()
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)) as instance:
        yield Location(tmp_path, MemoryScheduler(collect(100)), instance)


@pytest.fixture
def location(empty_location: Location) -> Location:
    """One manifest, `tiny`."""
    write_manifest(empty_location.root / "manifests")
    return empty_location
