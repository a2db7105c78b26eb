"""Validation: what it finds, at which level, as error or warning, and where."""

from pathlib import Path

import pytest

from reward_profiling.manifest.validate import validate_file
from reward_profiling.manifest.validation.findings import Findings
from reward_profiling_tests.unit.manifest.making import (
    AGENT_CONFIG,
    NOTHING,
    SWEEP,
    fake_gym,
    write_rows,
    write_sweep,
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


def check(path: Path, **options: object) -> Findings:
    return validate_file(path, **{"environ": NOTHING, **options})  # type: ignore[arg-type]


def errors(path: Path, **options: object) -> list[str]:
    return [problem.text.replace(f"{path.parent}/", "") for problem in check(path, **options).errors]


def warnings(path: Path, **options: object) -> list[str]:
    found = check(path, **options)
    assert found.ok, [problem.text for problem in found.errors]
    return [problem.text.replace(f"{path.parent}/", "") for problem in found.warnings]


def test_a_right_manifest_has_no_findings(tmp_path: Path) -> None:
    found = check(write_sweep(tmp_path))
    assert (found.errors, found.warnings, found.rows_checked) == ((), (), {"exam": 3})
    assert found.ok


def test_what_does_not_load_is_an_error_with_all_its_problems(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, "num_shards: x\nsrun: {sandbox_port: 0}\n" + SWEEP)
    found = check(path)
    assert [problem.place for problem in found.errors] == [f"{path}:1:1", f"{path}:2:8"]


def test_findings_as_data(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, SWEEP.replace("agent: exam_agent", "agent: exam_agnet"))
    data = check(path, level="no-data").as_dict()
    assert (data["ok"], data["warnings"], data["rows_checked"]) == (False, [], {})
    assert data["errors"] == [
        {
            "place": f"{path}:8:5",
            "path": "entries[0].agent",
            "problem": "the agent `exam_agnet` of `exam` is declared by none of its configs",
            "cure": "did you mean `exam_agent`?",
        }
    ]


def warnings_of(path: Path, gym: Path) -> list[str]:
    found = check(path, environ={"PATH": "", "REWARD_PROFILING_GYM": str(gym)})
    return [problem.problem for problem in found.warnings]


# --- configs and names -------------------------------------------------------------------------------------------


def test_missing_config_near_an_existing_one(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, SWEEP.replace("[agent.yaml]", "[agents.yaml]"))
    assert errors(path) == ["m.yaml:9:15: agents.yaml is not found; did you mean agent.yaml?"]


def test_missing_config_without_a_gym_is_a_warning(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, SWEEP.replace("[agent.yaml]", "[resources_servers/q/configs/q.yaml]"))
    (line,) = warnings(path)
    says = "resources_servers/q/configs/q.yaml and the servers declared there are not checked, because no NeMo Gym"
    assert line.startswith(f"m.yaml:9:15: {says}")


def test_missing_config_with_a_gym_is_an_error(tmp_path: Path) -> None:
    gym = fake_gym(tmp_path)
    path = write_sweep(tmp_path, SWEEP.replace("[agent.yaml]", "[resources_servers/q/configs/q.yaml]"))
    (line,) = errors(path, environ={"PATH": "", "REWARD_PROFILING_GYM": str(gym)})
    assert warnings_of(path, gym) == [
        "which servers are referred to is not checked, because some config could not be read"
    ]
    assert line.startswith("m.yaml:9:15: resources_servers/q/configs/q.yaml is not found; looked in ")
    assert "site-packages (installed gym)" in line


def test_missing_sweep_wide_config(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, SWEEP.replace("[model.yaml]", "[/none/model.yaml]"))
    assert errors(path)[0] == "m.yaml:3:18: /none/model.yaml is not found; check the path"


def test_configs_of_an_installed_gym_are_found(tmp_path: Path) -> None:
    gym = fake_gym(tmp_path)
    text = SWEEP.replace("model.yaml", "responses_api_models/vllm_model/configs/vllm_model.yaml")
    text = text.replace("agent.yaml", "resources_servers/exam_server/configs/exam.yaml")
    assert check(write_sweep(tmp_path, text), environ={"PATH": "", "REWARD_PROFILING_GYM": str(gym)}).errors == ()


def test_included_config_that_is_missing(tmp_path: Path) -> None:
    gym = fake_gym(tmp_path)
    path = write_sweep(tmp_path)
    (tmp_path / "agent.yaml").write_text("config_paths: [base/base.yaml]\n" + AGENT_CONFIG)
    (line,) = warnings(path)
    assert line.startswith("m.yaml:2:1: base/base.yaml and the servers declared there are not checked")
    (line,) = errors(path, environ={"PATH": "", "REWARD_PROFILING_GYM": str(gym)})
    assert line.startswith("m.yaml:2:1: agent.yaml includes base/base.yaml, which is not found; looked in ")


def test_config_that_is_no_yaml(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    (tmp_path / "agent.yaml").write_text("a: b: c\n")
    assert errors(path)[0] == "m.yaml:6:1: agent.yaml:1:5: is not YAML: mapping values are not allowed here"


def test_engines_script_that_is_missing(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, "vllm: {config: engines.sh}\n" + SWEEP)
    assert errors(path)[0].startswith("m.yaml:1:8: engines.sh is not found; looked in ")


def test_one_path_two_files(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    (tmp_path / "work/agent.yaml").write_text(AGENT_CONFIG + "# mine\n")
    (line,) = warnings(path)
    assert "agent.yaml is work/agent.yaml (working directory), and agent.yaml (manifest folder) differs" in line
    (tmp_path / "work/agent.yaml").write_text(AGENT_CONFIG)
    assert warnings(path) == []


def test_agent_that_is_a_server(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, SWEEP.replace("agent: exam_agent", "agent: exam"))
    assert errors(path, level="no-data") == [
        "m.yaml:8:5: the agent `exam` of `exam` is declared by none of its configs; they declare exam_agent"
    ]


def test_agent_of_another_entry_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(AGENT_CONFIG.replace("exam", "other"))
    second = "  - {label: other, agent: exam_agent, configs: [other.yaml], data: exam.jsonl}\n"
    path = write_sweep(tmp_path, SWEEP + second)
    assert errors(path)[0].startswith("m.yaml:11:20: the agent `exam_agent` of `other` is declared by none")


def test_replaced_agent_must_be_declared(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, SWEEP.replace("    data:", "    agent_ref_override: none_such\n    data:"))
    assert errors(path)[0].startswith("m.yaml:10:5: the agent `none_such` of `exam` is declared by none")


def test_agent_that_the_overlay_declares(tmp_path: Path) -> None:
    overlay = "  mine: {responses_api_agents: {simple_agent: {entrypoint: app.py}}}\n"
    text = SWEEP.replace("gym_eval_run", overlay + "gym_eval_run").replace("agent: exam_agent", "agent: mine")
    write_sweep(tmp_path, text)
    write_rows(tmp_path / "exam.jsonl", agent="mine")
    assert warnings(tmp_path / "m.yaml") == []


def test_policy_model_that_nobody_declares(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, SWEEP.replace("[model.yaml]", "[]"))
    (line,) = errors(path)
    assert "`exam_agent.responses_api_agents.simple_agent.model_server` asks for the responses_api_models" in line
    assert line.endswith("add responses_api_models/vllm_model/configs/vllm_model.yaml to `gym_env_start.config_paths`")


def test_judge_that_nobody_defines(tmp_path: Path) -> None:
    overlay = (
        "  exam:\n    resources_servers:\n      exam_server:\n"
        "        judge_model_server: {type: responses_api_models, name: graeder}\n"
        "  grader: {responses_api_models: {openai_model: {entrypoint: app.py}}}\n"
    )
    path = write_sweep(tmp_path, SWEEP.replace("gym_eval_run", overlay + "gym_eval_run"))
    assert errors(path) == [
        "m.yaml:7:9: `exam.resources_servers.exam_server.judge_model_server` asks for the responses_api_models "
        "`graeder`, which nothing defines; did you mean `grader`?"
    ]
    path.write_text(path.read_text().replace("graeder", "grader"))
    assert errors(path) == []


def test_binding_that_is_left_open(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    agent = tmp_path / "agent.yaml"
    agent.write_text(AGENT_CONFIG.replace("name: policy_model", "name: ???"))
    (line,) = errors(path)
    assert line.endswith("is left open; bind it under `gym_env_start`")
    agent.write_text(agent.read_text() + "other_agent: {_inherit_from: exam_agent}\n")
    assert errors(path) == []


def test_overlay_of_an_instance_that_does_not_exist(tmp_path: Path) -> None:
    overlay = "  exma:\n    resources_servers:\n      exam_server: {strictness: low}\n"
    path = write_sweep(tmp_path, SWEEP.replace("gym_eval_run", overlay + "gym_eval_run"))
    (line,) = errors(path)
    assert line.startswith("m.yaml:4:3: `exma` changes an instance that no config declares; ")


def test_overlay_of_a_server_that_the_instance_is_not(tmp_path: Path) -> None:
    overlay = "  exam:\n    resources_servers:\n      exam: {strictness: low}\n"
    path = write_sweep(tmp_path, SWEEP.replace("gym_eval_run", overlay + "gym_eval_run"))
    assert errors(path) == ["m.yaml:6:7: `exam` has no resources_servers `exam`; it is resources_servers.exam_server"]


def test_overlay_key_that_is_one_edit_away(tmp_path: Path) -> None:
    overlay = "  exam:\n    resources_servers:\n      exam_server: {stricness: low}\n"
    path = write_sweep(tmp_path, SWEEP.replace("gym_eval_run", overlay + "gym_eval_run"))
    assert errors(path) == [
        "m.yaml:6:21: `gym_env_start.exam.resources_servers.exam_server` knows no key `stricness`; "
        "did you mean `strictness`?"
    ]


def test_two_configs_that_set_one_instance_differently(tmp_path: Path) -> None:
    (tmp_path / "lenient.yaml").write_text(AGENT_CONFIG.replace("strictness: high", "strictness: low"))
    second = "  - {label: lenient, agent: exam_agent, configs: [lenient.yaml], data: more.jsonl}\n"
    write_rows(tmp_path / "more.jsonl")
    path = write_sweep(tmp_path, SWEEP + second)
    (line,) = warnings(path)
    assert "agent.yaml and lenient.yaml set `exam.resources_servers.exam_server.strictness` differently" in line
    settled = "  exam: {resources_servers: {exam_server: {strictness: low}}}\n"
    path.write_text(path.read_text().replace("gym_eval_run", settled + "gym_eval_run"))
    assert warnings(path) == []


# --- the environment ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "environ", "says"),
    [
        ("${oc.env:EXAM_KEY}", {}, "the environment variable EXAM_KEY is not exported; export EXAM_KEY"),
        ("${oc.env:EXAM_KEY}", {"EXAM_KEY": "verysecret"}, None),
        ("${oc.env:EXAM_KEY,none}", {}, None),
        ("${exam_key}", {}, "nothing defines `exam_key`, which a config refers to; define `exam_key` in env.yaml"),
        ("${policy_model_name}", {}, None),
        ("${exam.resources_servers.exam_server.strictness}", {}, None),
    ],
)
def test_names_that_are_not_set(value: str, environ: dict[str, str], says: str | None, tmp_path: Path) -> None:
    overlay = f"  exam:\n    resources_servers:\n      exam_server:\n        api_key: {value}\n"
    path = write_sweep(tmp_path, SWEEP.replace("gym_eval_run", overlay + "gym_eval_run"))
    found = warnings(path, environ={**NOTHING, **environ})
    assert found == ([f"m.yaml:2:1: {says}"] if says else [])
    assert "verysecret" not in str(found)


def test_env_yaml_defines_names_and_may_refer_to_variables(tmp_path: Path) -> None:
    overlay = "  exam:\n    resources_servers:\n      exam_server:\n        api_key: ${exam_key}\n"
    path = write_sweep(tmp_path, SWEEP.replace("gym_eval_run", overlay + "gym_eval_run"))
    (tmp_path / "work/env.yaml").write_text("exam_key: ${oc.env:EXAM_KEY}\n")
    assert warnings(path) == ["m.yaml:2:1: the environment variable EXAM_KEY is not exported; export EXAM_KEY"]
    assert warnings(path, environ={**NOTHING, "EXAM_KEY": "x"}) == []


def test_env_yaml_that_replaces_what_the_sweep_says(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    (tmp_path / "work/env.yaml").write_text("exam: {resources_servers: {exam_server: {strictness: none}}}\n")
    assert warnings(path) == [
        "m.yaml:1:1: work/env.yaml replaces `exam` of the sweep's configs; remove `exam` from that file"
    ]


def test_env_yaml_that_is_broken(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    (tmp_path / "work/env.yaml").write_text("- a\n")
    assert errors(path) == ["m.yaml:1:1: work/env.yaml:1:1: is not a mapping of server instances"]


# --- the job -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "timeout", "wrong"),
    [
        ("'01:00:00'", 3600, True),
        ("'01:00:00'", 3599, False),
        ("60", 3600, True),
        ("61", 3600, False),
        ("'60:01'", 3600, False),
        ("1-0", 86400, True),
        ("1-0:01", 86400, False),
        ("UNLIMITED", 10**9, False),
    ],
)
def test_walltime_against_the_routers_timeout(limit: str, timeout: int, wrong: bool, tmp_path: Path) -> None:
    text = f"vllm: {{nodes: 2}}\nsbatch: {{timelimit: {limit}}}\nvllm_router: {{request_timeout_s: {timeout}}}\n"
    found = errors(write_sweep(tmp_path, text + SWEEP), level="schema")
    assert [line.partition(";")[0].partition(",")[0] for line in found] == (
        [f"m.yaml:3:15: a request may take {timeout} s"] if wrong else []
    )


def test_time_limit_that_is_none(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, "sbatch: {time: 4h}\n" + SWEEP)
    assert errors(path) == ['m.yaml:1:10: `4h` is no time limit; write "hours:minutes:seconds"']


def test_nodes_against_what_the_cluster_allows(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, "vllm: {prefill_nodes: 2, decode_nodes: 16}\n" + SWEEP)
    assert errors(path, max_nodes_per_job=18) == []
    assert errors(path, max_nodes_per_job=16) == [
        "m.yaml:1:1: a job asks for 18 nodes, and at most 16 are allowed; use fewer nodes per job and more shards"
    ]


@pytest.mark.parametrize(
    ("add", "says"),
    [
        ("vllm_router: {log_level: info}\n", "`vllm_router` is not read, because a single engine needs no router"),
        (
            "vllm: {model: m}\n",
            "`vllm` is not read, because the policy is served at `gym_env_start.policy_base_url`",
        ),
        (
            "srun: {container: c, container_runtime: none}\n",
            "`srun.container` is not read, because the runtime is `none`",
        ),
        (
            "vllm: {nodes: 2}\nvllm_router: {request_timeout_s: 60}\n",
            "no walltime is given, so `vllm_router.request_timeout_s` cannot be held against it",
        ),
    ],
)
def test_settings_that_nobody_reads(add: str, says: str, tmp_path: Path) -> None:
    text = SWEEP
    if "policy_base_url" in says:
        text = text.replace("[model.yaml]", "[model.yaml]\n  policy_base_url: http://h/v1\n  policy_model_name: m")
    (line,) = warnings(write_sweep(tmp_path, add + text))
    assert says in line


def test_repeats_that_differ_for_one_agent(tmp_path: Path) -> None:
    write_rows(tmp_path / "more.jsonl")
    second = "  - {label: more, agent: exam_agent, configs: [agent.yaml], data: more.jsonl, num_repeats: 8}\n"
    (line,) = warnings(write_sweep(tmp_path, SWEEP + second))
    assert line.startswith("m.yaml:11:79: `more` wants 8 repeats and `exam` 4, with one agent; ")


def test_single_rollouts_show_no_spread(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, SWEEP.replace("num_repeats: 4", "num_repeats: 1"))
    assert warnings(path) == [
        "m.yaml:4:1: exam run once per task, which shows no spread; set `gym_eval_run.num_repeats`"
    ]


def test_one_dataset_twice(tmp_path: Path) -> None:
    second = "  - {label: again, agent: exam_agent, configs: [agent.yaml], data: exam.jsonl}\n"
    (line,) = warnings(write_sweep(tmp_path, SWEEP + second))
    assert "`again` has the dataset and the agent of `exam`" in line


# --- data --------------------------------------------------------------------------------------------------------


def test_missing_dataset(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    (tmp_path / "exam.jsonl").unlink()
    (line,) = errors(path)
    assert line.startswith("m.yaml:10:5: exam.jsonl is not found; looked in ")
    assert errors(path, level="no-data") == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ["m.yaml:10:5: exam.jsonl has no rows; check the path"]),
        (b"\n  \n", ["m.yaml:10:5: exam.jsonl has no rows; check the path"]),
        (
            b"\n[1]\n",
            ["exam.jsonl:2: the row is not a JSON object; mend the dataset, or the entry `exam` (exam_agent)"],
        ),
        (
            b'{"agent_ref": {"name": "exam_agent"}}\n',
            [
                "exam.jsonl:1: the row carries no responses_create_params object; "
                "mend the dataset, or the entry `exam` (exam_agent)"
            ],
        ),
        (
            b'{"responses_create_params": {}}\n',
            ["exam.jsonl:1: the row carries no agent_ref.name; mend the dataset, or the entry `exam` (exam_agent)"],
        ),
        (
            b'{"responses_create_params": {}, "agent_ref": {"name": "b"}}\n',
            [
                "exam.jsonl:1: the row carries the agent_ref 'b', not 'exam_agent'; "
                "mend the dataset, or the entry `exam` (exam_agent)"
            ],
        ),
    ],
)
def test_bad_rows(content: bytes, says: list[str], tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    (tmp_path / "exam.jsonl").write_bytes(content)
    assert errors(path) == says


def test_broken_line(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    with (tmp_path / "exam.jsonl").open("ab") as stream:
        stream.write(b'{"cut": ')
    (line,) = errors(path)
    assert line.startswith("exam.jsonl:4: the row is not JSON (")


def test_only_the_first_rows_are_looked_at(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    write_rows(tmp_path / "exam.jsonl", 50)
    with (tmp_path / "exam.jsonl").open("ab") as stream:
        stream.write(b"[]\n")
    assert check(path, sample_rows=50).rows_checked == {"exam": 50}
    assert errors(path, sample_rows=50) == []
    assert len(errors(path, sample_rows=51)) == 1


def test_all_rows_in_processes(tmp_path: Path) -> None:
    write_rows(tmp_path / "more.jsonl", 300)
    second = "  - {label: more, agent: exam_agent, configs: [agent.yaml], data: more.jsonl}\n"
    path = write_sweep(tmp_path, SWEEP + second)
    write_rows(tmp_path / "exam.jsonl", 200)
    with (tmp_path / "exam.jsonl").open("ab") as stream:
        stream.write(b"[]\n")
    told: list[tuple[str, int]] = []
    found = check(path, sample_rows=0, progress=lambda label, rows: told.append((label, rows)))
    assert found.rows_checked == {"exam": 201, "more": 300}
    assert sorted(told) == [("exam", 201), ("more", 300)]
    assert [problem.place for problem in found.errors] == [f"{tmp_path / 'exam.jsonl'}:201"]


def test_many_bad_rows_are_counted_not_listed(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    write_rows(tmp_path / "exam.jsonl", 20, agent="wrong")
    found = errors(path)
    assert len(found) == 4
    assert found[-1] == "m.yaml:10:5: exam.jsonl has 17 more bad rows among the 20 looked at"


def test_reserved_keys_are_warned_about_once(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    write_rows(tmp_path / "exam.jsonl", 5, _ng_task_index=3)
    assert warnings(path) == [
        "exam.jsonl:1: the row carries the key _ng_task_index, which NeMo Gym and the sweep use for themselves"
    ]


def test_rows_of_a_replaced_agent(tmp_path: Path) -> None:
    (tmp_path / "strict.yaml").write_text(AGENT_CONFIG.replace("exam", "strict"))
    text = SWEEP.replace("[agent.yaml]", "[agent.yaml, strict.yaml]\n    agent_ref_override: strict_agent")
    path = write_sweep(tmp_path, text)
    assert warnings(path) == []
    write_rows(tmp_path / "exam.jsonl", agent="third")
    (line,) = warnings(path)
    assert line.startswith("exam.jsonl:1: the row carries the agent_ref 'third', which 'strict_agent' replaces")


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    rows = (tmp_path / "exam.jsonl").read_bytes()
    (tmp_path / "exam.jsonl").write_bytes(b"\xef\xbb\xbf" + rows.replace(b"\n", b"\r\n"))
    assert warnings(path) == []
