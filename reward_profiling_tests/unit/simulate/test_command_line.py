"""The command line of the stand-in: what Gym refuses is refused alike, and a misspelt fault is never ignored."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reward_profiling.errors import BadInputError, RewardProfilingError
from reward_profiling.simulate import overrides
from reward_profiling.simulate.steering import Steering, resolve
from reward_profiling_tests.collector import Collector, beside, demo_rows, read_rows, write_work_list


def test_it_starts_without_the_heavy_libraries() -> None:
    program = "import sys, reward_profiling.simulate.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"polars", "pyarrow", "pydantic", "dagster", "numpy", "duckdb"} & set(loaded)


def test_values_and_replacements() -> None:
    found = overrides.parse(
        ["+a=1", "++b.c=true", "++limit=7", "+d='x y'", "++e=[1, 2]", "hydra.run.dir=/x", "+f=", "+g=null"],
        {"limit": 3},
    )
    assert found == {
        "a": 1,
        "b.c": True,
        "limit": 7,
        "d": "x y",
        "e": [1, 2],
        "f": "",
        "g": None,
    }
    assert overrides.section({"s": {"x": 1, "y": 2}, "s.y": 3, "s.z.k": 4}, "s") == {"x": 1, "y": 3, "z": {"k": 4}}


@pytest.mark.parametrize("arguments", [["+a=1", "+a=2"], ["+limit=4"], ["a=1"], ["stray"]])
def test_what_the_grammar_refuses(arguments: list[str]) -> None:
    with pytest.raises(RewardProfilingError) as caught:
        overrides.parse(arguments, {"limit": 3})
    assert caught.value.exit_code == 1


def test_paths_in_flags_are_quoted_inside_the_argument_or_safe() -> None:
    assert overrides.path_text("--output", '"/a=b/r.jsonl"') == "/a=b/r.jsonl"
    assert overrides.path_text("--output", "/a b/r.jsonl") == "/a b/r.jsonl"
    for unsafe in ("/a=b/r.jsonl", "/ä/r.jsonl", "12", "null", "1e5"):
        with pytest.raises(RewardProfilingError, match="double quotes"):
            overrides.path_text("--output", unsafe)


@pytest.mark.parametrize(
    "setting", [{"sead": 1}, {"seed": "x"}, {"failures": 0.5}, {"masked_rate": 2}, {"skills": {"a": [1]}}]
)
def test_steering_that_cannot_be_read_is_a_usage_error(setting: dict[str, object]) -> None:
    with pytest.raises(BadInputError, match=f"simulate.{next(iter(setting))}"):
        resolve({}, {}, setting)


def test_steering_is_read_from_the_environment() -> None:
    environ = {
        "REWARD_PROFILING_SIMULATE_FAILURES": '{"agent_run_error": 0.5}',
        "REWARD_PROFILING_SIMULATE_HANG_AFTER": "0",
        "REWARD_PROFILING_SIMULATE_SKILLS": '{"a": [1, 2]}',
    }
    assert resolve({}, environ, {}) == Steering(
        failures={"agent_run_error": 0.5}, hang_after=0, skills={"a": (1.0, 2.0)}
    )


def test_configs_give_way_to_the_environment_and_that_to_the_command_line() -> None:
    configured, environ, given = {"seed": 1}, {"REWARD_PROFILING_SIMULATE_SEED": "2", "SEED": "9"}, {"seed": 3}
    assert [resolve(configured, *rest).seed for rest in (({}, {}), (environ, {}), (environ, given))] == [1, 2, 3]


def test_a_misspelt_fault_ends_the_run_with_one_line(collector: Collector, tmp_path: Path) -> None:
    output = tmp_path / "rollouts.jsonl"
    write_work_list(output, demo_rows("geography", 1), 1)
    run = collector.collect(output, "++simulate.hang_afetr=1")
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert read_rows(output) == []


def test_an_unknown_key_is_accepted_silently(collect: Callable[..., int], tmp_path: Path) -> None:
    output = tmp_path / "rollouts.jsonl"
    write_work_list(output, demo_rows("geography", 1), 1)
    assert collect(output, "+route_failure_to_sidecar=true") == 0
    assert len(read_rows(output)) == 1


def test_an_output_path_with_a_sign_of_the_grammar_needs_quotes(collect: Callable[..., int], tmp_path: Path) -> None:
    output = tmp_path / "a=b" / "rollouts.jsonl"
    write_work_list(output, demo_rows("geography", 1), 1)
    assert collect(output) == 1
    assert collect(Path(f'"{output}"')) == 0
    assert len(read_rows(output)) == 1


@pytest.mark.parametrize(
    "line", ["5", "{", "{}", '{"_ng_task_index": "x", "_ng_rollout_index": 0}', '{"agent_ref": null}', "[1]"]
)
def test_a_row_that_is_none_ends_the_run_with_its_place(
    collect: Callable[..., int], caplog: pytest.LogCaptureFixture, tmp_path: Path, line: str
) -> None:
    output = tmp_path / "rollouts.jsonl"
    output.touch()
    work_list = beside(output, "materialized_inputs")
    work_list.write_text(line + "\n")
    assert collect(output) == 1
    assert f"{work_list}:1" in caplog.text
