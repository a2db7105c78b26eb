"""Manifests at random: what is written is read back, and precedence holds for every setting."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reward_profiling.errors import ManifestError
from reward_profiling.manifest.known import GYM_START_KEYS, SBATCH_OPTIONS, SBATCH_OWNED
from reward_profiling.manifest.load import LoadedManifest, load_manifest
from reward_profiling.manifest.names import variables
from reward_profiling.manifest.near import nearest, one_edit
from reward_profiling.manifest.secrets import is_secret_key, written_secrets
from reward_profiling.manifest.yaml_tree import dump, parse

NOTHING = {"PATH": ""}
repeatable = settings(derandomize=True, deadline=None)

printable = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,20}", fullmatch=True)
small = st.integers(1, 1000)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    printable,
    st.sampled_from(
        ["1e-3", "4:00:00", "no", "~", "null", "007", "0x1f", "1_000", "2026-01-01", "<<", "=", "- a", "#"]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(printable, inner, max_size=3)),
    max_leaves=8,
)
entry = st.fixed_dictionaries(
    {"agent": printable, "configs": st.lists(printable, min_size=1, max_size=3), "data": printable},
    optional={
        "owner": printable,
        "num_repeats": small,
        "limit": small,
        "pass_threshold": st.floats(-10, 10),
        "notes": values,
    },
)


@st.composite
def overlays(draw: st.DrawFn) -> dict[str, Any]:
    overlay: dict[str, Any] = draw(st.dictionaries(printable, values, max_size=3))
    usable = {key: value for key, value in overlay.items() if nearest(key, GYM_START_KEYS) is None}
    usable = {key: value for key, value in usable.items() if key not in GYM_START_KEYS and not is_secret_key(key)}
    return {} if list(written_secrets(usable)) else usable


@st.composite
def manifests(draw: st.DrawFn) -> dict[str, Any]:
    labels = draw(st.lists(names, min_size=1, max_size=4, unique_by=str.lower))
    block: dict[str, Any] = {
        "nickname": draw(names),
        "num_shards": draw(small),
        "vllm": draw(st.fixed_dictionaries({}, optional={"model": printable, "max_num_seqs": small, "nodes": small})),
        "sbatch": draw(
            st.fixed_dictionaries({}, optional={"account": names, "timelimit": small, "exclusive": st.booleans()})
        ),
        "gym_env_start": draw(overlays()),
        "gym_eval_run": draw(st.fixed_dictionaries({"num_repeats": small})),
        "entries": [{"label": label, **draw(entry)} for label in labels],
    }
    return block if not list(written_secrets(block)) else {**block, "gym_env_start": {}}


def load(text: str, environ: dict[str, str] = NOTHING, overrides: dict[str, object] | None = None) -> LoadedManifest:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.yaml"
        path.write_text(text)
        return load_manifest(path, environ=environ, overrides=overrides)


@settings(repeatable)
@given(st.dictionaries(printable, values, max_size=5))
def test_yaml_is_read_back_as_it_was_written(value: dict[str, Any]) -> None:
    assert parse(dump(value).encode(), "m.yaml").value == value


@settings(repeatable, max_examples=40)
@given(manifests())
def test_a_resolved_manifest_written_out_loads_as_itself(value: dict[str, Any]) -> None:
    first = load(dump(value))
    again = load(dump(first.manifest.model_dump(mode="json")))
    assert again.manifest == first.manifest
    assert again.digest == first.digest


SETTINGS = {
    ("num_shards",): small,
    ("vllm", "model"): names,
    ("vllm", "max_num_seqs"): small,
    ("srun", "container"): names,
    ("srun", "sandbox_workers"): small,
    ("vllm_router", "circuit_breaker"): st.booleans(),
    ("vllm_router", "queue_timeout_s"): st.floats(0.5, 1e6),
    ("gym_eval_run", "num_repeats"): small,
    ("gym_eval_run", "some_free_key"): small,
    ("sbatch", "qos"): names,
}


@settings(repeatable, max_examples=80)
@given(st.data(), st.sampled_from(sorted(SETTINGS)), st.sets(st.sampled_from(["manifest", "env", "command line"])))
def test_precedence(data: st.DataObject, key: tuple[str, ...], places: set[str]) -> None:
    drawn = {place: data.draw(SETTINGS[key], label=place) for place in places}
    value: dict[str, Any] = {"nickname": "a", "entries": [{"label": "x", "agent": "a", "configs": ["c"], "data": "d"}]}
    if "manifest" in drawn:
        value |= {key[0]: drawn["manifest"]} if len(key) == 1 else {key[0]: {key[1]: drawn["manifest"]}}
    variable = data.draw(st.sampled_from(variables(key)))
    environ = {**NOTHING, variable: str(drawn["env"])} if "env" in drawn else NOTHING
    overrides = {".".join(key): drawn["command line"]} if "command line" in drawn else {}
    loaded = load(dump(value), environ, overrides)
    found = [setting for setting in loaded.settings if setting.name == ".".join(key)]
    for place in ("command line", "env", "manifest"):
        if place in drawn:
            assert [setting.origin for setting in found] == [f"env {variable}" if place == "env" else place]
            assert [setting.value for setting in found] == [drawn[place]]
            return
    assert [setting.origin for setting in found] == (
        ["default"] if key[1:] not in (("some_free_key",), ("qos",)) else []
    )


@settings(repeatable)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_tree_or_one_line(content: bytes) -> None:
    try:
        parse(content, "m.yaml")
    except ManifestError as error:
        assert str(error).startswith("m.yaml:")
        assert "\n" not in str(error)


@settings(repeatable, max_examples=300)
@given(st.text("[]{}:,-&*!|>'\"%@`#\n\tab1. ~=<?", max_size=30))
def test_any_punctuation_is_a_tree_or_one_line(text: str) -> None:
    try:
        parse(text.encode(), "m.yaml")
    except ManifestError as error:
        assert str(error).startswith("m.yaml:")
        assert "\n" not in str(error)


def edits(word: str) -> st.SearchStrategy[str]:
    """Words one insertion, deletion, replacement or swap away."""
    index = st.integers(0, len(word) - 1)
    letter = st.sampled_from("abcdefghijklmnopqrstuvwxyz_")
    return st.one_of(
        st.builds(lambda i, c: word[:i] + c + word[i:], index, letter),
        st.builds(lambda i: word[:i] + word[i + 1 :], index),
        st.builds(lambda i, c: word[:i] + c + word[i + 1 :], index, letter),
        st.builds(lambda i: word[:i] + word[i : i + 2][::-1] + word[i + 2 :], index),
    )


@settings(repeatable)
@given(st.data(), st.sampled_from(sorted(SBATCH_OPTIONS - SBATCH_OWNED)))
def test_every_slip_of_a_known_key_is_noticed(data: st.DataObject, word: str) -> None:
    slip = data.draw(edits(word))
    if slip == word:
        return
    assert one_edit(slip, word)
    assert one_edit(word, slip)
    assert slip in SBATCH_OPTIONS or nearest(slip, SBATCH_OPTIONS) is not None


@settings(repeatable)
@given(st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_one_edit_is_what_it_says(left: str, right: str) -> None:
    near = {left[:i] + c + left[i:] for i in range(len(left) + 1) for c in "ab"}
    near |= {left[:i] + left[i + 1 :] for i in range(len(left))}
    near |= {left[:i] + c + left[i + 1 :] for i in range(len(left)) for c in "ab"}
    near |= {left[:i] + left[i : i + 2][::-1] + left[i + 2 :] for i in range(len(left) - 1)}
    assert one_edit(left, right) == (right in near - {left})
