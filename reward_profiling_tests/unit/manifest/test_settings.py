"""Precedence: manifest, then environment, then command line; and where each value came from."""

from pathlib import Path

import pytest

from reward_profiling.errors import ManifestError
from reward_profiling.manifest.load import LoadedManifest
from reward_profiling.manifest.names import ALIASES, blocks, variables
from reward_profiling_tests.unit.manifest.making import TAIL, load

PLAIN = "num_shards: 2\nvllm: {model: written, decode_nodes: 3}\nsbatch: {timelimit: '1:00:00'}\n" + TAIL


def origin(loaded: LoadedManifest, name: str) -> tuple[object, str]:
    found = next(setting for setting in loaded.settings if setting.name == name)
    return found.value, found.origin


@pytest.mark.parametrize(
    ("name", "variable", "text", "value"),
    [
        ("vllm.model", "VLLM_MODEL", "/models/b", "/models/b"),
        ("vllm.model", "MODEL", "123", "123"),
        ("num_shards", "NUM_SHARDS", "16", 16),
        ("nickname", "NICKNAME", "b", "b"),
        ("srun.container", "CONTAINER", "/c.sqsh", "/c.sqsh"),
        ("srun.sandbox_container", "SANDBOX_CONTAINER", "/s.sqsh", "/s.sqsh"),
        ("vllm.prefill_nodes", "NUM_PREFILL_NODES", "2", 2),
        ("vllm.decode_nodes", "NUM_DECODE_NODES", "8", 8),
        ("materialize.limit_per_entry", "LIMIT_PER_ENTRY", "8", 8),
        ("sbatch.timelimit", "SBATCH_TIMELIMIT", "04:00:00", "04:00:00"),
        ("sbatch.timelimit", "SBATCH_TIME", "04:00:00", "04:00:00"),
        ("sbatch.qos", "SBATCH_QOS", "normal", "normal"),
        ("sbatch.mem", "SBATCH_MEM_PER_NODE", "1e5", "1e5"),
        ("sbatch.exclusive", "SBATCH_EXCLUSIVE", "1", True),
        ("gym_eval_run.num_samples_in_parallel", "GYM_EVAL_RUN_NUM_SAMPLES_IN_PARALLEL", "64", 64),
        ("gym_eval_run.dispatch_longest_first", "GYM_EVAL_RUN_DISPATCH_LONGEST_FIRST", "true", True),
        ("gym_env_start.policy_base_url", "GYM_ENV_START_POLICY_BASE_URL", "http://h/v1", "http://h/v1"),
        ("gym_env_start.port_range_low", "GYM_ENV_START_PORT_RANGE_LOW", "20000", 20000),
        ("gym_eval_profile.allow_partial_rollouts", "GYM_EVAL_PROFILE_ALLOW_PARTIAL_ROLLOUTS", "false", False),
        ("vllm_router.request_timeout_s", "VLLM_ROUTER_REQUEST_TIMEOUT_S", "900", 900.0),
        ("vllm.common_args", "VLLM_COMMON_ARGS", "[--seed, '1']", ("--seed", "1")),
        ("srun.mounts", "SRUN_MOUNTS", "/a:/a,/b:/b", "/a:/a,/b:/b"),
        ("materialize.sample", "MATERIALIZE_SAMPLE", "head", "head"),
    ],
)
def test_environment_beats_manifest(name: str, variable: str, text: str, value: object, tmp_path: Path) -> None:
    environ = {variable: text}
    if variable == "GYM_ENV_START_POLICY_BASE_URL":
        environ["GYM_ENV_START_POLICY_MODEL_NAME"] = "m"
    assert origin(load(tmp_path, PLAIN, environ), name) == (value, f"env {variable}")


def test_command_line_beats_environment(tmp_path: Path) -> None:
    loaded = load(tmp_path, PLAIN, {"MODEL": "env", "NUM_SHARDS": "4"}, {"vllm.model": "line", "num_shards": 8})
    assert origin(loaded, "vllm.model") == ("line", "command line")
    assert origin(loaded, "num_shards") == (8, "command line")
    assert (loaded.manifest.vllm.model, loaded.manifest.num_shards) == ("line", 8)


def test_text_of_the_command_line_becomes_the_type(tmp_path: Path) -> None:
    loaded = load(tmp_path, PLAIN, overrides={"vllm.max_num_seqs": "64", "vllm.model": "64", "srun.container": None})
    assert loaded.manifest.vllm.max_num_seqs == 64
    assert loaded.manifest.vllm.model == "64"
    assert origin(loaded, "srun.container") == (None, "default")


def test_options_of_sbatch_have_one_spelling_everywhere(tmp_path: Path) -> None:
    loaded = load(tmp_path, PLAIN, overrides={"sbatch.time": "2:00:00", "sbatch.mem-per-cpu": "1G"})
    assert loaded.manifest.sbatch.options == {"time": "2:00:00", "mem-per-cpu": "1G"}


def test_empty_variable_is_unset(tmp_path: Path) -> None:
    assert origin(load(tmp_path, PLAIN, {"MODEL": "", "SBATCH_QOS": ""}), "vllm.model") == ("written", "manifest")


def test_two_variables_that_differ_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"VLLM_MODEL and MODEL set `vllm\.model` differently"):
        load(tmp_path, PLAIN, {"MODEL": "a", "VLLM_MODEL": "b"})
    assert load(tmp_path, PLAIN, {"MODEL": "a", "VLLM_MODEL": "a"}).manifest.model == "a"


def test_a_limit_from_outside_lowers_and_never_raises(tmp_path: Path) -> None:
    text = (
        "nickname: a\nmaterialize: {limit_per_entry: 100}\nentries:\n"
        "  - {label: x, agent: a, configs: [c], data: d, limit: 5}\n"
        "  - {label: y, agent: a, configs: [c], data: d, limit: 500}\n"
        "  - {label: z, agent: a, configs: [c], data: d}\n"
    )

    def limits(environ: dict[str, str], overrides: dict[str, object]) -> list[int | None]:
        manifest = load(tmp_path, text, environ, overrides).manifest
        return [manifest.limit(entry) for entry in manifest.entries]

    assert limits({}, {}) == [5, 500, 100]
    assert limits({"LIMIT_PER_ENTRY": "8"}, {}) == [5, 8, 8]
    assert limits({"LIMIT_PER_ENTRY": "200"}, {}) == [5, 200, 100]
    assert limits({"LIMIT_PER_ENTRY": "8"}, {"materialize.limit_per_entry": 50}) == [5, 50, 50]
    assert limits({}, {"materialize.limit_per_entry": 10_000}) == [5, 500, 100]


def test_lowered_limits_of_entries_are_shown(tmp_path: Path) -> None:
    text = "nickname: a\nentries:\n  - {label: x, agent: a, configs: [c], data: d, limit: 500}\n"
    assert origin(load(tmp_path, text, {"LIMIT_PER_ENTRY": "8"}), "entries.x.limit") == (8, "env LIMIT_PER_ENTRY")


def test_a_secret_of_the_environment_is_recorded_by_name(tmp_path: Path) -> None:
    environ = {"GYM_ENV_START_POLICY_API_KEY": "sk-verysecret"}
    loaded = load(tmp_path, PLAIN, environ)
    name = "${oc.env:GYM_ENV_START_POLICY_API_KEY}"
    assert loaded.manifest.gym_env_start.policy_api_key == name
    assert "verysecret" not in repr(loaded)


def test_a_secret_of_the_command_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"command line: .*secret") as refused:
        load(tmp_path, PLAIN, overrides={"gym_env_start.policy_api_key": "sk-verysecret"})
    assert "verysecret" not in str(refused.value)


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"NUM_SHARDS": "many"}, 'env NUM_SHARDS: `num_shards` should be a whole number, not the text "many"'),
        ({"VLLM_TOPOLOGY": "x"}, "env VLLM_TOPOLOGY: `vllm.topology` should be one of 'pd', 'aggregated'"),
        ({"LIMIT_PER_ENTRY": "0"}, "env LIMIT_PER_ENTRY: `materialize.limit_per_entry` should be at least 1"),
        ({"GYM_EVAL_RUN_NUM_REPEAT": "8"}, "env GYM_EVAL_RUN_NUM_REPEAT: `gym_eval_run` knows no key `num_repeat`"),
        ({"SBATCH_COMMENT": "a\nb"}, "env SBATCH_COMMENT: `sbatch.comment` is empty or holds a line break"),
        ({"GYM_EVAL_RUN_X": ".inf"}, "env GYM_EVAL_RUN_X: `gym_eval_run.x` is given a value that a manifest cannot"),
        ({"MODEL": "\udcff"}, "env MODEL: `vllm.model` is given a value that a manifest cannot hold"),
    ],
)
def test_bad_values_of_the_environment_name_the_variable(environ: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as refused:
        load(tmp_path, PLAIN, environ)
    assert str(refused.value).startswith(says)


@pytest.mark.parametrize("name", ["vllm", "foo.bar", "entries", "vllm.", "modle", ""])
def test_overrides_that_are_no_setting(name: str, tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="is not a setting"):
        load(tmp_path, PLAIN, overrides={name: 1})


def test_override_of_an_unknown_key(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="command line: `vllm` has no key `modle`; did you mean `model`"):
        load(tmp_path, PLAIN, overrides={"vllm.modle": "x"})


def test_other_variables_with_our_prefixes_are_not_ours(tmp_path: Path) -> None:
    environ = {
        "VLLM_PORT": "1",
        "SBATCH_DEBUG": "x",
        "SBATCH_JOB_NAME": "mine",
        "VLLM_USE_V1": "1",
        "SLURM_JOB_ID": "3",
    }
    assert load(tmp_path, PLAIN, environ).settings == load(tmp_path, PLAIN).settings


def test_every_setting_is_in_the_table_once(tmp_path: Path) -> None:
    loaded = load(tmp_path, PLAIN)
    names = [setting.name for setting in loaded.settings]
    assert len(names) == len(set(names))
    expected = {f"{block}.{key}" for block, model in blocks().items() for key in model.model_fields}
    assert expected | {"nickname", "num_shards", "sbatch.timelimit"} == set(names)


def test_no_two_settings_share_a_variable() -> None:
    keys = [(block, key) for block, model in blocks().items() for key in model.model_fields]
    names = [name for key in keys for name in variables(key)] + ["NUM_SHARDS", "NICKNAME"]
    assert len(names) == len(set(names))
    assert set(ALIASES) <= set(keys)


def test_what_the_environment_changes_changes_the_digest(tmp_path: Path) -> None:
    assert load(tmp_path, PLAIN, {"MODEL": "other"}).digest != load(tmp_path, PLAIN).digest
    assert load(tmp_path, PLAIN, {"MODEL": "written"}).digest == load(tmp_path, PLAIN).digest
