"""What a loaded manifest holds: values as YAML means them, places, defaults."""

from pathlib import Path

import pytest

from reward_profiling.errors import ManifestError
from reward_profiling.manifest.load import load_manifest
from reward_profiling_tests.unit.manifest.making import TAIL, load


def test_defaults(tmp_path: Path) -> None:
    manifest = load(tmp_path, TAIL).manifest
    assert (manifest.num_shards, manifest.mode, manifest.model, manifest.nodes_per_job) == (1, "serve", None, 1)
    assert manifest.concurrency == 512
    assert manifest.repeats(manifest.entries[0]) == 1
    assert manifest.limit(manifest.entries[0]) is None
    assert manifest.gym_eval_profile.allow_partial_rollouts is True


def test_endpoint_mode_takes_its_own_model(tmp_path: Path) -> None:
    text = "vllm: {model: m}\ngym_env_start: {policy_base_url: 'http://h/v1', policy_model_name: served}\n" + TAIL
    manifest = load(tmp_path, text).manifest
    assert (manifest.mode, manifest.model, manifest.nodes_per_job) == ("endpoint", "served", 1)


def test_shape_of_a_prefill_decode_job(tmp_path: Path) -> None:
    manifest = load(tmp_path, "vllm: {prefill_nodes: 2, decode_nodes: 8, max_num_seqs: 256}\n" + TAIL).manifest
    assert manifest.vllm.effective_topology == "pd"
    assert (manifest.nodes_per_job, manifest.concurrency) == (10, 2048)


def test_aggregated_job_counts_each_node_once(tmp_path: Path) -> None:
    manifest = load(tmp_path, "vllm: {nodes: 3}\n" + TAIL).manifest
    assert (manifest.nodes_per_job, manifest.concurrency) == (3, 1536)


def test_time_limits_stay_text(tmp_path: Path) -> None:
    # YAML 1.1 reads 4:00:00 as 14400, and sbatch would take that for minutes: ten days instead of four hours.
    options = load(tmp_path, "sbatch: {timelimit: 4:00:00, begin: 2026-01-01, account: 0123}\n" + TAIL).manifest.sbatch
    assert options.options == {"time": "4:00:00", "begin": "2026-01-01", "account": "0123"}


def test_numbers_mean_what_gym_makes_of_them(tmp_path: Path) -> None:
    overlay = load(tmp_path, "gym_env_start: {a: 1e-3, b: 1_000, c: 0x10, d: .5, e: -2}\n" + TAIL).manifest
    assert overlay.gym_env_start.free == {"a": 0.001, "b": 1000, "c": 16, "d": 0.5, "e": -2}


def test_sbatch_options_by_one_spelling(tmp_path: Path) -> None:
    options = load(tmp_path, "sbatch: {mem-per-cpu: 2G, time: 60, exclusive: true}\n" + TAIL).manifest.sbatch
    assert options.options == {"mem-per-cpu": "2G", "time": 60, "exclusive": True}


def test_anchors_aliases_and_merge_keys(tmp_path: Path) -> None:
    text = "gym_env_start:\n  a: &a {k: 1, l: 2}\n  b: *a\n  c:\n    <<: *a\n    k: 3\n" + TAIL
    free = load(tmp_path, text).manifest.gym_env_start.free
    assert free == {"a": {"k": 1, "l": 2}, "b": {"k": 1, "l": 2}, "c": {"k": 3, "l": 2}}


def test_empty_block_is_no_error(tmp_path: Path) -> None:
    assert load(tmp_path, "sbatch:\n  # account: me\nsrun:\n" + TAIL).manifest.sbatch.options == {}


def test_nulls_inside_free_form_values_survive(tmp_path: Path) -> None:
    assert load(tmp_path, "gym_env_start: {a: {b: null}}\n" + TAIL).manifest.gym_env_start.free == {"a": {"b": None}}


def test_free_keys_may_have_any_name(tmp_path: Path) -> None:
    names = ("free", "copy", "model_fields", "json", "options", "__class__")
    text = "gym_env_start:\n" + "".join(f"  {name}: {number}\n" for number, name in enumerate(names)) + TAIL
    assert load(tmp_path, text).manifest.gym_env_start.free == {name: number for number, name in enumerate(names)}


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + TAIL.replace("\n", "\r\n").encode())
    assert load_manifest(path, environ={"PATH": ""}).manifest.entries[0].data == "d.jsonl"


def test_mounts_as_list_or_text(tmp_path: Path) -> None:
    as_list = load(tmp_path, "srun: {mounts: ['/a:/a', '/b:/b']}\n" + TAIL).manifest.srun.mount_list
    as_text = load(tmp_path, "srun: {mounts: '/a:/a, /b:/b'}\n" + TAIL).manifest.srun.mount_list
    assert as_list == as_text == ("/a:/a", "/b:/b")


def test_places(tmp_path: Path) -> None:
    loaded = load(tmp_path, "vllm:\n  model: x\nsbatch:\n  time: 1:00:00\n" + TAIL)
    file = tmp_path / "m.yaml"
    assert loaded.place("vllm", "model") == f"{file}:2:3"
    assert loaded.place("sbatch", "timelimit") == f"{file}:4:3"
    assert loaded.place("entries", 0, "configs", 0) == f"{file}:7:36"
    assert loaded.place("vllm", "nodes") == f"{file}:1:1"
    assert loaded.place("srun", "container") == f"{file}:1:1"


def test_a_manifest_alone_must_be_right(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="num_shards"):
        load(tmp_path, "num_shards: many\n" + TAIL, {"NUM_SHARDS": "4"})


@pytest.mark.parametrize(
    "text",
    ["per-token rewards", "--max-num-batched-tokens=8192", "--eos-token x", "a --api-key=$KEY", "ssh://git@host/x"],
)
def test_words_that_are_no_secrets(text: str, tmp_path: Path) -> None:
    assert load(tmp_path, f"gym_env_start: {{prompt: '{text}'}}\n" + TAIL).manifest.gym_env_start.free["prompt"] == text


def test_placeholders_for_keys_are_no_secrets(tmp_path: Path) -> None:
    text = "gym_env_start: {a: {api_key: EMPTY, pad_token: '<|pad|>', max_tokens: 5, token: '${oc.env:T}'}}\n" + TAIL
    assert load(tmp_path, text).manifest.gym_env_start.free["a"]["api_key"] == "EMPTY"
