"""reshard, merge, split and check: what they do, their exit codes, their JSON, one line for what is refused."""

import os
from pathlib import Path

import pytest

from reward_profiling.launch.quiet import RECENT_SECONDS
from reward_profiling.sweep.completeness import load_plan
from reward_profiling.sweep.layout import SweepDir
from reward_profiling_tests.collected import collect_some, sweep_holds
from reward_profiling_tests.sweeps import append, rollout
from reward_profiling_tests.unit.cli.conftest import Command


@pytest.fixture
def sweep(command: Command, manifest: Path, tmp_path: Path) -> Path:
    """A materialized, partly collected sweep at rest."""
    assert command("materialize", manifest, "--sweeps-dir", tmp_path / "sweeps").code == 0
    path = tmp_path / "sweeps" / "tiny"
    collect_some(load_plan(SweepDir(path), {}), 1)
    age(path)
    return path


def age(sweep: Path) -> None:
    for path in sweep.rglob("rollouts*.jsonl"):
        os.utime(path, (path.stat().st_mtime - 2 * RECENT_SECONDS,) * 2)


def test_reshard_carries_what_was_collected_and_says_what_to_do(command: Command, sweep: Path) -> None:
    held = sweep_holds(load_plan(SweepDir(sweep), {}))
    before = command("status", sweep, "--json").json
    made = command("reshard", sweep, "--num-shards", 3, "--scheduler", "local")
    assert (made.code, "Set `num_shards: 3` in the manifest" in made.out) == (0, True)
    after = command("status", sweep, "--json").json
    assert len(after["shards"]) == 3
    assert {key: value for key, value in after.items() if key not in ("shards", "last_row_at")} == {
        key: value for key, value in before.items() if key not in ("shards", "last_row_at")
    }
    assert sweep_holds(load_plan(SweepDir(sweep), {})) == held
    found = command("reshard", sweep, "--num-shards", 1, "--scheduler", "local", "--json").json
    assert (found["num_shards"], found["path"]) == (1, str(sweep))
    assert command("check", sweep).code == 0


def test_a_manifest_of_before_is_refused_and_told_to_reshard(command: Command, sweep: Path, manifest: Path) -> None:
    assert command("reshard", sweep, "--num-shards", 3, "--scheduler", "local").code == 0
    made = command("materialize", manifest, "--sweeps-dir", sweep.parent)
    assert made.code == 2
    assert f"`reward-profiling reshard {sweep} --num-shards 2` carries them along" in made.err
    manifest.write_text(manifest.read_text().replace("num_shards: 2", "num_shards: 3"))
    assert command("materialize", manifest, "--sweeps-dir", sweep.parent).code == 0
    assert command("check", sweep).code == 0


def test_a_live_sweep_is_not_resharded(command: Command, sweep: Path) -> None:
    append(sweep / "shards" / "shard_000" / "rollouts.jsonl", rollout((0, 0)))
    made = command("reshard", sweep, "--num-shards", 3, "--scheduler", "local")
    assert made.code == 2
    assert "shard_000 is live: rollouts.jsonl was written" in made.err
    assert made.err.count("\n") == 1


def test_what_is_no_sweep_is_refused_and_nothing_is_made(command: Command, tmp_path: Path) -> None:
    for name in ("reshard", "merge", "split", "check"):
        extra = ("--num-shards", 3, "--scheduler", "local") if name == "reshard" else ()
        made = command(name, tmp_path / "nowhere", *extra)
        assert (made.code, made.err.count("\n")) == (2, 1), made.err
    assert not (tmp_path / "nowhere").exists()


def test_merge_and_split_tell_where_and_how_much(command: Command, sweep: Path, tmp_path: Path) -> None:
    held = sweep_holds(load_plan(SweepDir(sweep), {}))
    made = command("merge", sweep, "--json")
    assert made.code == 1  # rollouts are outstanding
    assert made.json["rollouts"] == str(sweep / "rollouts.jsonl")
    assert len((sweep / "rollouts.jsonl").read_bytes().splitlines()) == len(held.rollouts)
    assert "INCOMPLETE: " in made.err
    made = command("split", sweep, "--out-dir", tmp_path / "out", "--json")
    assert made.json["directories"] == {label: str(tmp_path / "out" / label) for label in ("alpha", "beta")}
    done = sum(each["succeeded"] for each in made.json["environments"].values())
    assert done == len(held.rollouts)
    for name in ("merge", "split"):
        assert "alpha" in command(name, sweep).out
    assert command("check", sweep).code == 0  # outputs in the sweep's directory are no damage


def test_labels_without_rollouts_are_named(command: Command, manifest: Path, tmp_path: Path) -> None:
    command("materialize", manifest, "--sweeps-dir", tmp_path / "sweeps")
    sweep = tmp_path / "sweeps" / "tiny"
    append(sweep / "shards" / "shard_000" / "rollouts.jsonl", rollout((0, 0)))
    made = command("merge", sweep, "--json")
    assert made.json["without_rollouts"] == ["beta"]
    assert "beta: no rollouts at all" in command("split", sweep).err


def test_check_fails_with_its_findings(command: Command, sweep: Path) -> None:
    made = command("check", sweep, "--json")
    assert (made.code, made.json["ok"]) == (0, True)
    assert [each["name"] for each in made.json["checks"]] == [
        "labels",
        "shards",
        "work lists",
        "rollouts",
        "failures",
        "index",
        "counts",
        "snapshots",
        "ledgers",
    ]
    append(sweep / "shards" / "shard_000" / "rollouts.jsonl", rollout((1, 0)))
    made = command("check", sweep)
    assert (made.code, "1 FAILED" in made.out) == (1, True)
    assert "rows are of other shards or of no task: 1:0" in made.out
    made = command("check", sweep, "--json")
    assert [each["name"] for each in made.json["checks"] if not each["ok"]] == ["rollouts"]
