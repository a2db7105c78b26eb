"""Which sweeps a code location shows: one per manifest file, and what is wrong with those that have none.

Promise: every file becomes a `Sweep` or a `BrokenManifest`, so one bad manifest never takes the others down; groups are
unique; the same files give the same answer.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from reward_profiling.errors import RewardProfilingError
from reward_profiling.manifest.load import LoadedManifest, load_manifest
from reward_profiling.sweep.layout import SweepDir, shard_name

CATALOG_GROUP = "catalog"
"""The group of the assets that belong to no sweep."""

ONE_RUN = dg.BackfillPolicy.single_run()
"""The policy of every asset of a sweep, so that one command or one click materializes all of it in one run."""


@dataclass(frozen=True)
class Sweep:
    """A manifest that loaded, with the directory of its sweep and its place in the asset graph."""

    loaded: LoadedManifest
    directory: SweepDir
    group: str
    partitions: dg.StaticPartitionsDefinition

    @property
    def nickname(self) -> str:
        return self.directory.nickname

    @property
    def digest(self) -> str:
        return self.loaded.digest

    def key(self, asset: str) -> dg.AssetKey:
        """The key of one of this sweep's assets."""
        return dg.AssetKey([self.nickname, asset])


@dataclass(frozen=True)
class BrokenManifest:
    """A manifest that cannot be shown as a sweep; `problem` says why in one line, `name` is its group and its key's
    prefix."""

    path: Path
    name: str
    problem: str


@dataclass(frozen=True)
class Found:
    """Everything that a folder of manifests holds."""

    sweeps: tuple[Sweep, ...]
    broken: tuple[BrokenManifest, ...]


def find_sweeps(manifests: Path, sweeps_dir: Path, environ: Mapping[str, str]) -> Found:
    """Read `manifests/*.yaml` in the order of their names. A missing folder holds nothing."""
    sweeps: dict[str, Sweep] = {}
    problems: dict[Path, str] = {}
    for path in sorted(manifests.glob("*.yaml")):
        try:
            loaded = load_manifest(path, environ=environ)
        except RewardProfilingError as error:
            problems[path] = str(error)
            continue
        except Exception as error:  # noqa: BLE001 - a defect met in one manifest must not take the location down
            problems[path] = f"{path}: reading it ended in {type(error).__name__}: {' '.join(str(error).split())}"
            continue
        sweep = _sweep(loaded, sweeps_dir)
        if sweep.group in sweeps:
            problems[path] = _taken(sweep, sweeps[sweep.group])
        else:
            sweeps[sweep.group] = sweep
    groups = {CATALOG_GROUP, *sweeps}
    return Found(tuple(sweeps.values()), tuple(_broken(path, problem, groups) for path, problem in problems.items()))


def _sweep(loaded: LoadedManifest, sweeps_dir: Path) -> Sweep:
    nickname = loaded.manifest.nickname
    shards = [shard_name(number) for number in range(loaded.manifest.num_shards)]
    return Sweep(
        loaded=loaded,
        directory=SweepDir(sweeps_dir / nickname),
        group=_word(nickname),
        partitions=dg.StaticPartitionsDefinition(shards),
    )


def _taken(sweep: Sweep, other: Sweep) -> str:
    """Dagster knows the assets of both by the same words."""
    difference = "" if sweep.nickname == other.nickname else f", which differs from {sweep.nickname} in signs only"
    return (
        f"{sweep.loaded.place('nickname')}: {other.loaded.path} has the nickname {other.nickname} already{difference}; "
        "give one of them another"
    )


def _broken(path: Path, problem: str, taken: set[str]) -> BrokenManifest:
    wanted = _word(path.stem)
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return BrokenManifest(path, name, problem)


def _word(name: str) -> str:
    """`name` with the only characters that a group and a step of Dagster's may have."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)
