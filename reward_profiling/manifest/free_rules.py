"""What free-form blocks may not hold: slips of known keys, options that the job owns, text that could become shell.

Promise: every function looks at plain values, whatever their types, and yields problems without reading files.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reward_profiling.manifest.explain import Place
from reward_profiling.manifest.known import (
    GYM_RUN_IGNORED,
    GYM_RUN_KEYS,
    GYM_RUN_OWNED,
    GYM_SERVER_TYPES,
    GYM_START_KEYS,
    SBATCH_OPTIONS,
    SBATCH_OWNED,
)
from reward_profiling.manifest.near import nearest
from reward_profiling.manifest.problems import Path, Problem, dotted
from reward_profiling.manifest.secrets import written_secrets

_OPTION_NAME = re.compile(r"[a-z][a-z0-9_]+\Z")
_OVERRIDE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def check(values: Mapping[str, Any], place: Place) -> Iterator[Problem]:
    """All problems of the free-form blocks in `values`, and secrets anywhere."""
    yield from _sbatch(_block(values, "sbatch"), place)
    yield from _gym_env_start(_block(values, "gym_env_start"), place)
    yield from _gym_eval_run(_block(values, "gym_eval_run"), place)
    for path in written_secrets(dict(values)):
        cure = "write ${oc.env:NAME} and export NAME"
        yield Problem(place(path), path, f"`{dotted(path)}` seems to hold a secret itself", cure)


def _block(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    block = values.get(name)
    return block if isinstance(block, dict) else {}


def _slips(block: Path, keys: Iterable[str], known: frozenset[str], place: Place) -> Iterator[Problem]:
    for key in keys:
        near = nearest(key, known)
        if near is not None:
            path = (*block, key)
            yield Problem(place(path), path, f"`{dotted(block)}` knows no key `{key}`", f"did you mean `{near}`?")


def _sbatch(block: Mapping[str, Any], place: Place) -> Iterator[Problem]:
    yield from _slips(("sbatch",), block, SBATCH_OPTIONS, place)
    for key, value in block.items():
        path: Path = ("sbatch", key)
        if key in SBATCH_OWNED:
            cure = "remove it; the job of a shard is named, queued and logged by the sweep"
            yield Problem(place(path), path, f"`sbatch.{key}` is not yours to set", cure)
        elif not _OPTION_NAME.match(key):
            yield Problem(
                place(path), path, f"`{key}` is no option of sbatch", "write its long name without dashes in front"
            )
        elif isinstance(value, str) and (not value.strip() or _UNPRINTABLE.search(value)):
            yield Problem(place(path), path, f"`sbatch.{key}` is empty or holds a line break", "write it in one line")


def _gym_env_start(block: Mapping[str, Any], place: Place) -> Iterator[Problem]:
    yield from _slips(("gym_env_start",), block, GYM_START_KEYS, place)
    for key, value in block.items():
        if isinstance(value, dict):
            yield from _slips(("gym_env_start", key), value, GYM_SERVER_TYPES, place)


def _gym_eval_run(block: Mapping[str, Any], place: Place) -> Iterator[Problem]:
    yield from _slips(("gym_eval_run",), block, GYM_RUN_KEYS, place)
    for key in block:
        path: Path = ("gym_eval_run", key)
        first = key.split(".", 1)[0]
        if not _OVERRIDE_NAME.match(key):
            cure = "write letters, digits, `_` and dots, without `+`"
            yield Problem(place(path), path, f"`{key}` cannot be an override's name", cure)
        elif first in GYM_RUN_OWNED:
            yield Problem(place(path), path, f"`gym_eval_run.{key}` is set by the job", "remove it")
        elif first in GYM_RUN_IGNORED:
            problem = f"`gym eval run` ignores `{key}` when it works from a sweep's work list"
            yield Problem(place(path), path, problem, GYM_RUN_IGNORED[first])
