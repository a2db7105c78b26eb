"""`env start` of the stand-in: readiness, routes, endings, and configs that real servers would not start with."""

import json
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from reward_profiling.simulate.config import Surroundings, environment_servers, load, servers
from reward_profiling.simulate.head import Address, Plan, ask
from reward_profiling.simulate.main import main
from reward_profiling_tests.collector import (
    DEMO,
    DEMO_CONFIGS,
    NO_POLICY,
    STAND_IN,
    Collector,
    demo_rows,
    free_port,
    read_rows,
    running,
    status,
    write_work_list,
)

DEMO_ARGUMENTS = [argument for config in DEMO_CONFIGS for argument in ("--config", str(config))]


def start(port: int, *arguments: str) -> subprocess.Popen[str]:
    command = [*STAND_IN, "env", "start", f"++head_server.port={port}", *NO_POLICY, *DEMO_ARGUMENTS, *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def refused(caplog: pytest.LogCaptureFixture, *arguments: str) -> str:
    """The one line with which `env start` ends at once, exit code 1."""
    caplog.clear()
    assert main(["env", "start", f"++head_server.port={free_port()}", *arguments]) == 1
    (record,) = caplog.records
    return record.getMessage()


def await_status(port: int, path: str, wanted: int) -> None:
    deadline = time.monotonic() + 10
    while status(port, path) != wanted:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_it_is_alive_before_it_is_ready() -> None:
    port = free_port()
    with start(port, "++simulate.ready_after_s=1") as process:
        await_status(port, "/livez", 200)
        assert [status(port, path) for path in ("/readyz", "/health", "/healthz", "/")] == [503, 503, 503, 200]
        await_status(port, "/readyz", 200)
        assert [status(port, path) for path in ("/health", "/healthz", "/nothing")] == [200, 200, 404]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
        assert process.stderr is not None
        assert "All 10 / 10 servers ready! Polling every 60s" in process.stderr.read()


def test_a_termination_is_no_success(tmp_path: Path) -> None:
    port = free_port()
    with start(port) as process:
        await_status(port, "/readyz", 200)
        process.terminate()
        assert process.wait(timeout=10) == -signal.SIGTERM


def test_it_ends_by_itself_on_demand() -> None:
    port = free_port()
    with start(port, "++simulate.env_exit_after_s=0.1") as process:
        assert process.wait(timeout=10) == 1


def test_it_lists_what_the_configs_declare(collector: Collector) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{collector.port}/server_instances") as answer:
        instances = json.load(answer)
    assert len(instances) == 10
    names = {instance["process_name"] for instance in instances}
    assert {"policy_model", "geography", "geography_agent", "geography_environment_server"} <= names
    assert all(instance["_simulated"] for instance in instances)


def test_a_port_that_is_taken_is_refused(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["env", "start", f"++head_server.port={collector.port}", *NO_POLICY, *DEMO_ARGUMENTS]) == 1
    assert f"127.0.0.1:{collector.port}" in caplog.text


def test_configs_that_real_servers_would_not_start_with_are_refused(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    geography, policy = (["--config", str(DEMO / "configs" / name)] for name in ("geography.yaml", "policy_model.yaml"))
    key = "++policy_model.responses_api_models.vllm_model.api_key=${oc.env:LAB_TEST_NO_SUCH_KEY}"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yaml").write_text("a: [1\nb: 2\n")
    (tmp_path / "circle.yaml").write_text("config_paths: [circle.yaml]\n")
    for arguments, words in (
        (["--config", "resources_servers/nothing.yaml"], "no such config"),
        ([], "declare no server"),
        ([*geography, *NO_POLICY], "no server is named 'policy_model'"),
        ([*geography, *policy], "nothing defines ${policy_base_url}"),
        ([*geography, *policy, *NO_POLICY, key], "nothing defines ${oc.env:LAB_TEST_NO_SUCH_KEY}"),
        (["--config", "broken.yaml"], "broken.yaml: no YAML"),
        (["--config", "circle.yaml"], "includes itself"),
        ([*geography, *policy, *NO_POLICY, "++head_server.port=many"], "head_server: no address: 127.0.0.1:many"),
    ):
        assert words in refused(caplog, *arguments)


def test_included_configs_are_found_in_the_roots_and_faults_in_configs_reach_the_collector(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = tmp_path / "sweep_config.yaml"
    sweep.write_text("config_paths: [configs/geography.yaml, configs/policy_model.yaml]\nsimulate: {masked_rate: 1}\n")
    assert "no such config" in refused(caplog, "--config", str(sweep), *NO_POLICY)
    monkeypatch.setenv("NEMO_GYM_EXTRA_ROOTS", str(DEMO))
    with running(STAND_IN, [sweep], tmp_path / "run", *NO_POLICY) as collector:
        plan = ask(Address(port=collector.port))
        output = tmp_path / "shard" / "rollouts.jsonl"
        write_work_list(output, demo_rows("geography", 1), 2)
        assert collector.collect(output).returncode == 0
    assert plan == Plan({"geography_agent": "geography_environment_server"}, {"masked_rate": 1})
    assert [row["mask_sample"] for row in read_rows(output)] == [True, True]


def test_configs_are_merged_as_gym_merges_them(tmp_path: Path) -> None:
    """An included config gives way to the including one, an earlier to a later one, all to the overrides."""
    server = "s: {resources_servers: {p: {a: %d, b: %d, c: %d, d: %d}}}\n"
    (tmp_path / "included.yaml").write_text(server % (1, 1, 1, 1))
    including = "config_paths: [included.yaml]\ns: {resources_servers: {p: {b: 2, c: 2, d: 2}}}\n"
    (tmp_path / "including.yaml").write_text(including)
    (tmp_path / "later.yaml").write_text("s: {resources_servers: {p: {c: 3, d: 3}}}\n")
    found = load(
        ["including.yaml", "later.yaml"], {"s.resources_servers.p.d": 4}, Surroundings((str(tmp_path),), environ={})
    )
    assert found["s"]["resources_servers"]["p"] == {"a": 1, "b": 2, "c": 3, "d": 4}


@pytest.mark.parametrize(
    ("agent", "server"),
    [
        ("bar_agent", "bar_environment_server"),
        ("foo_simple_agent", "foo_environment_server"),
        ("plain", "plain_environment_server"),
        ("agent_x", "agent_x_environment_server"),
        ("simple_agent", "simple_agent_environment_server"),
    ],
)
def test_an_agent_without_an_environment_server_gets_one(agent: str, server: str) -> None:
    """The names that `gym env resolve` of NeMo Gym 0.7.0 showed for these agents."""
    running = servers({agent: {"responses_api_agents": {"simple_agent": {"entrypoint": "app.py"}}}})
    assert environment_servers(running) == {agent: server}


def test_a_declared_environment_server_is_used() -> None:
    front = {"environment_servers": {"legacy_agent": {"agent_server": {"name": "bar_agent"}}}}
    agent = {"responses_api_agents": {"simple_agent": {"entrypoint": "app.py"}}}
    running = servers({"my_front": front, "bar_agent": agent})
    assert environment_servers(running) == {"bar_agent": "my_front"}
    assert len(running) == 2
