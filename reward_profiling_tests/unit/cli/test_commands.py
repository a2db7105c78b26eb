"""The commands that people script against: what they do, their exit codes, and their JSON."""

from pathlib import Path

import polars as pl
import pytest

from reward_profiling_tests.sweeps import append, rollout
from reward_profiling_tests.unit.cli.conftest import Command


@pytest.fixture
def sweep(command: Command, manifest: Path, tmp_path: Path) -> Path:
    """A materialized sweep."""
    assert command("materialize", manifest, "--sweeps-dir", tmp_path / "sweeps").code == 0
    return tmp_path / "sweeps" / "tiny"


def test_validate_says_ok_and_how_much_was_read(command: Command, manifest: Path) -> None:
    made = command("validate", manifest)
    assert (made.code, made.out.split(":")[-1].strip()) == (0, "ok, 0 warning(s), 6 rows read")
    (found,) = command("validate", manifest, "--json").json
    assert (found["ok"], found["rows_checked"]) == (True, {"alpha": 3, "beta": 3})


def test_settings_say_where_a_value_comes_from(
    command: Command, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUM_SHARDS", "3")
    settings = {each["name"]: each for each in command("settings", manifest, "--json").json}
    assert settings["num_shards"] == {"name": "num_shards", "value": 3, "origin": "env NUM_SHARDS"}
    assert settings["gym_eval_run.num_repeats"]["origin"] == "manifest"
    assert "env NUM_SHARDS" in command("settings", manifest).out


def test_materialize_reports_what_it_made(command: Command, manifest: Path, tmp_path: Path) -> None:
    made = command("materialize", manifest, "--sweeps-dir", tmp_path / "sweeps", "--limit-per-entry", 2, "--json")
    assert made.code == 0
    assert [(each["label"], each["tasks"], each["limit"]) for each in made.json["entries"]] == [
        ("alpha", 2, 2),
        ("beta", 2, 2),
    ]
    assert made.json["path"] == str(tmp_path / "sweeps" / "tiny")


def test_a_shuffle_from_the_command_line_wins(command: Command, manifest: Path, tmp_path: Path) -> None:
    made = command("materialize", manifest, "--sweeps-dir", tmp_path / "sweeps", "--shuffle", 9, "--json")
    assert made.json["shuffle"] == 9
    settings = {each["name"]: each for each in made.json["settings"]}
    assert settings["materialize.shuffle"]["origin"] == "command line"


def test_status_counts_and_its_code_tells_whether_all_is_done(command: Command, sweep: Path) -> None:
    append(sweep / "shards" / "shard_000" / "rollouts.jsonl", rollout((0, 0)), rollout((4, 1)))
    made = command("status", sweep, "--json")
    assert made.code == 1
    found = made.json
    assert (found["expected"], found["succeeded"], found["outstanding"], found["complete"]) == (12, 2, 10, False)
    assert [(each["label"], each["succeeded"]) for each in found["environments"]] == [("alpha", 1), ("beta", 1)]
    assert [(each["shard"], each["phase"]) for each in found["shards"]] == [
        ("shard_000", "to do"),
        ("shard_001", "to do"),
    ]
    assert (found["rate_per_hour"], found["eta_seconds"], found["eta_at_least"]) == (None, None, True)
    shown = command("status", sweep).out
    assert "tiny: INCOMPLETE" in shown
    assert all(column in shown for column in ("per hour", "time left", "last row"))


def test_a_partial_profile_is_marked_and_its_code_is_one(command: Command, sweep: Path) -> None:
    append(sweep / "shards" / "shard_000" / "rollouts.jsonl", rollout((0, 0), 0.5))
    made = command("profile", sweep)
    assert made.code == 1
    assert "tiny (PARTIAL)" in made.out
    summary = pl.read_parquet(sweep / "profiles" / "summary.parquet")
    assert summary["complete"].to_list() == [False, False]
    assert command("profile", sweep, "--json").json["complete"] is False


def test_run_collects_everything_and_profile_shows_it(command: Command, sweep: Path) -> None:
    made = command("run", sweep, "--gym", "simulated", "--scheduler", "local", "--json")
    assert (made.code, made.json["complete"], made.json["simulated"]) == (0, True, True)
    assert [each["attempts"] for each in made.json["shards"]] == [1, 1]
    again = command("run", sweep, "--gym", "simulated", "--scheduler", "local", "--json")
    assert [each["attempts"] for each in again.json["shards"]] == [1, 1]
    profiled = command("profile", sweep)
    assert profiled.code == 0
    assert "tiny (simulated)" in profiled.out
    assert command("status", sweep).code == 0


def test_a_run_that_gives_up_says_so(command: Command, sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_PROFILING_SIMULATE_EXIT_AFTER", "0")
    made = command("run", sweep, "--gym", "simulated", "--scheduler", "local", "--shard", 0)
    assert made.code == 1
    assert "given up: 5 attempts in a row brought no new row" in made.err
    assert "INCOMPLETE: shard_000 given up, 6 rollouts were never collected" in made.err
    assert "tiny: INCOMPLETE" in made.out


def test_script_prints_the_job_and_submits_nothing(command: Command, sweep: Path) -> None:
    made = command("script", sweep, "--shard", 1, "--gym", "simulated")
    assert made.code == 0
    assert made.out.startswith("#!/usr/bin/env bash\n")
    assert "#SBATCH --job-name=rp.tiny.shard_001." in made.out
    assert not (sweep / "shards" / "shard_001" / "attempts.jsonl").exists()


def test_diff_tells_what_a_manifest_would_change(command: Command, sweep: Path, manifest: Path) -> None:
    assert command("diff", sweep, manifest).code == 0
    manifest.write_text(manifest.read_text().replace("num_shards: 2", "num_shards: 3").replace("some-model", "other"))
    made = command("diff", sweep, manifest, "--json")
    assert made.code == 1
    assert [(each["kind"], each["name"], each["before"], each["after"]) for each in made.json] == [
        ("setting", "num_shards", 2, 3),
        ("setting", "gym_env_start.policy_model_name", "some-model", "other"),
        ("meaning", "model", "some-model", "other"),
    ]


def test_more_nodes_than_the_cluster_allows_are_found(command: Command, manifest: Path) -> None:
    text = manifest.read_text().replace("num_shards: 2", "num_shards: 2\nvllm: {nodes: 4}")
    manifest.write_text(text.replace("  policy_base_url: http://127.0.0.1:9/v1\n", ""))
    assert command("validate", manifest, "--skip-data", "--max-nodes", 3).code == 2
    assert command("validate", manifest, "--skip-data", "--max-nodes", 4).code == 0


def test_an_image_that_lacks_a_server_is_named(command: Command, manifest: Path, tmp_path: Path) -> None:
    image, config = tmp_path / "image.yaml", tmp_path / "gym.yaml"
    assert command("container-config", manifest, "-o", image).code == 0
    assert command("container-config", manifest, "-o", tmp_path / "again.yaml", "--image", image).code == 0
    image.write_text(image.read_text().replace(str(config), str(tmp_path / "old.yaml")))
    (tmp_path / "old.yaml").write_text(config.read_text().replace("simple_agent", "other_agent"))
    made = command("container-config", manifest, "-o", tmp_path / "again.yaml", "--image", image)
    assert (made.code, made.err) == (1, f"{image} lacks responses_api_agents/simple_agent\n")


def test_the_schema_is_one_json_document(command: Command) -> None:
    assert command("schema").json["properties"]["nickname"]
