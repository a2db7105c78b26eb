"""Bad input is one line that names the place and the cure, exit code 2, and nothing is written."""

from pathlib import Path

import pytest

from reward_profiling_tests.unit.cli.conftest import Command


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        ("sweep.yaml", "num_shards: 2", "num_shards: [2", "sweep.yaml:3:14: "),
        (
            "sweep.yaml",
            "num_shards",
            "num_shard",
            "sweep.yaml:2:1: a manifest has no key `num_shard`; did you mean `num_shards`?",
        ),
        (
            "sweep.yaml",
            "data: beta.jsonl",
            "data: gamma.jsonl",
            "sweep.yaml:9:56: the dataset gamma.jsonl of entry beta is not found",
        ),
        ("sweep.yaml", "[gym.yaml]", "[/no/such.yaml]", "sweep.yaml:8:"),
        ("gym.yaml", "agent_a:", "agent_b:", "sweep.yaml:8:20: the agent `agent_a` of `alpha`"),
        ("beta.jsonl", '"agent_ref"', '"agent_rep"', "beta.jsonl:1: the row has no agent_ref.name"),
        ("beta.jsonl", "{", "", "beta.jsonl:1: not JSON"),
        (
            "beta.jsonl",
            "agent_a",
            "agent_z",
            "beta.jsonl:1: the row belongs to agent 'agent_z', the entry to 'agent_a'",
        ),
    ],
)
def test_materialize_refuses(command: Command, manifest: Path, file: str, old: str, new: str, line: str) -> None:
    _edit(manifest.with_name(file), old, new)
    made = command("materialize", manifest, "--sweeps-dir", manifest.parent / "sweeps")
    assert made.code == 2
    assert line in made.err
    assert "Traceback" not in made.err
    assert not (manifest.parent / "sweeps").exists()


def test_a_missing_manifest(command: Command, tmp_path: Path) -> None:
    made = command("validate", tmp_path / "none.yaml")
    assert made.code == 2
    assert "none.yaml" in made.err
    assert "Traceback" not in made.err


@pytest.mark.parametrize("name", ["status", "run", "profile"])
def test_a_directory_that_is_no_sweep(command: Command, tmp_path: Path, name: str) -> None:
    made = command(name, tmp_path)
    assert made.code == 2
    assert made.err.startswith(f"error: {tmp_path}/sweep_report.json: the sweep report is missing; run")


def test_no_gym_and_no_such_scheduler(
    command: Command, manifest: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sweeps = tmp_path / "sweeps"
    assert command("materialize", manifest, "--sweeps-dir", sweeps).code == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    made = command("run", sweeps / "tiny")
    assert made.code == 2
    assert "there is no `gym` on PATH; set REWARD_PROFILING_GYM or pass --gym" in made.err
    made = command("run", sweeps / "tiny", "--gym", "simulated", "--scheduler", "pbs")
    assert (made.code, made.err) == (2, "error: --scheduler: 'pbs' is no scheduler; use slurm, local or auto\n")
    made = command("run", sweeps / "tiny", "--gym", "simulated", "--scheduler", "slurm")
    assert made.code == 2
    assert made.err.startswith("error: --scheduler slurm: there is no Slurm here; ")


def test_a_shard_that_is_not_there(command: Command, manifest: Path, tmp_path: Path) -> None:
    command("materialize", manifest, "--sweeps-dir", tmp_path / "sweeps")
    made = command("run", tmp_path / "sweeps" / "tiny", "--gym", "simulated", "--shard", 5)
    assert (made.code, made.err) == (2, "error: --shard: there is no shard 5; they run from 0 to 1\n")


def test_usage_errors_are_two(command: Command) -> None:
    assert command("status").code == 2
    assert command("profile").code == 2
    assert command("nonsense").code == 2
