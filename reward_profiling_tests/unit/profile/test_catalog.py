"""The catalog over sweeps: one Parquet file and a database that opens read-only from anywhere."""

import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from reward_profiling.errors import SweepError
from reward_profiling.profile.catalog import TASKS_SCHEMA, Catalog, build_catalog, is_profiled
from reward_profiling.profile.sweep_profile import summary_path, table_path
from reward_profiling.sweep.layout import SweepDir
from reward_profiling_tests.unit.profile.sweeps import profiled_sweep


def _ask(catalog: Catalog, question: str) -> list[tuple[object, ...]]:
    with duckdb.connect(catalog.database, read_only=True) as connection:
        return connection.execute(question).fetchall()


def test_the_catalog_has_a_row_per_environment_of_eachprofiled_sweep(tmp_path: Path) -> None:
    sweeps = [profiled_sweep(tmp_path, "one", [1.0, 0.0]), profiled_sweep(tmp_path, "two", [1.0])]
    catalog = build_catalog(sweeps, tmp_path)
    columns = ["nickname", "label", "complete", "mean_reward", "manifest_digest"]
    rows = [
        ("one", "alpha", True, 0.5, "sha256:one"),
        ("one", "beta", True, None, "sha256:one"),
        ("two", "alpha", False, 1.0, "sha256:two"),
        ("two", "beta", True, None, "sha256:two"),
    ]
    assert catalog.environments.select(columns).rows() == rows
    assert pl.read_parquet(catalog.parquet).equals(catalog.environments)
    assert _ask(catalog, f"SELECT {', '.join(columns)} FROM environments") == rows
    failed = "SELECT DISTINCT failed_by_class[1].failure_class FROM environments WHERE label = 'beta'"
    assert _ask(catalog, failed) == [("skipped",)]


def test_tasks_of_all_sweeps_can_be_asked_by_content(tmp_path: Path) -> None:
    catalog = build_catalog(
        [profiled_sweep(tmp_path, "one", [1.0, 0.0]), profiled_sweep(tmp_path, "two", [1.0])], tmp_path
    )
    question = (
        """SELECT nickname, "mean/reward", num_rollouts, complete FROM tasks WHERE content_hash = 'x' ORDER BY 1"""
    )
    assert _ask(catalog, question) == [("one", 0.5, 2, True), ("two", 1.0, 1, False)]
    assert [row[0] for row in _ask(catalog, "DESCRIBE tasks")] == list(TASKS_SCHEMA)
    assert _ask(catalog, """SELECT count("mean/output_tokens") FROM tasks""") == [(0,)]


def test_the_database_needs_nothing_else_and_opens_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = profiled_sweep(tmp_path, "one", [1.0])
    database = build_catalog([sweep], tmp_path / "catalog").database
    shutil.rmtree(sweep.path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    moved = Path(shutil.move(database, tmp_path / "elsewhere" / "moved.duckdb"))
    moved.chmod(0o444)
    with duckdb.connect(moved, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM tasks").fetchone() == (2,)


def test_a_reader_of_the_old_catalog_is_not_disturbed_by_a_new_one(tmp_path: Path) -> None:
    catalog = build_catalog([profiled_sweep(tmp_path, "one", [1.0])], tmp_path)
    with duckdb.connect(catalog.database, read_only=True) as reader:
        build_catalog([], tmp_path)
        assert reader.execute("SELECT count(*) FROM environments").fetchone() == (2,)
    assert _ask(catalog, "SELECT count(*) FROM environments") == [(0,)]


def test_profiles_of_two_moments_are_not_mixed(tmp_path: Path) -> None:
    sweep = profiled_sweep(tmp_path, "one", [1.0])
    old = table_path(sweep, "beta").read_bytes()
    profiled_sweep(tmp_path, "one", [1.0, 1.0], moment="2026-02-01T00:00:00Z")
    table_path(sweep, "beta").write_bytes(old)
    with pytest.raises(
        SweepError, match=r"beta\.parquet: the table was profiled at 2026-01-31.*profile the sweep again"
    ):
        build_catalog([sweep], tmp_path)


def test_what_cannot_be_read_is_refused_and_the_old_catalog_stays(tmp_path: Path) -> None:
    sweep = profiled_sweep(tmp_path, "one", [1.0])
    catalog = build_catalog([sweep], tmp_path)
    before = catalog.database.read_bytes(), catalog.parquet.read_bytes()
    table_path(sweep, "alpha").write_bytes(b"no parquet")
    with pytest.raises(SweepError, match=r"alpha\.parquet: the profile cannot be read; profile the sweep again"):
        build_catalog([sweep], tmp_path)
    table_path(sweep, "alpha").unlink()
    with pytest.raises(SweepError, match=r"alpha\.parquet: there is no profile"):
        build_catalog([sweep], tmp_path)
    assert (catalog.database.read_bytes(), catalog.parquet.read_bytes()) == before
    assert {path.name for path in tmp_path.iterdir()} == {"one", "catalog.duckdb", "catalog.parquet"}


def test_a_summary_of_another_version_is_refused(tmp_path: Path) -> None:
    sweep = profiled_sweep(tmp_path, "one", [1.0])
    pl.DataFrame({"label": ["alpha"]}).write_parquet(summary_path(sweep))
    with pytest.raises(SweepError, match="the summary is of another version"):
        build_catalog([sweep], tmp_path)


def test_two_sweeps_of_one_name_are_refused(tmp_path: Path) -> None:
    sweeps = [profiled_sweep(tmp_path / folder, "one", [1.0]) for folder in ("a", "b")]
    with pytest.raises(SweepError, match="two sweeps are named one"):
        build_catalog(sweeps, tmp_path)


def test_which_sweeps_are_profiled(tmp_path: Path) -> None:
    assert is_profiled(profiled_sweep(tmp_path, "one", [1.0]))
    assert not is_profiled(SweepDir(tmp_path / "two"))
