"""What a manifest would change about a sweep that is there.

Promise: reads both sides and decides nothing; whether a change is refused is `settle`'s to say, and each difference
names what it touches.
"""

from dataclasses import dataclass
from typing import Any, Literal

from reward_profiling.manifest.load import LoadedManifest
from reward_profiling.manifest.meaning import changed, meaning
from reward_profiling.sweep.report import SweepReport

Kind = Literal["setting", "entry", "dataset", "config", "meaning"]

_KINDS: dict[str, Kind] = {"entry": "entry", "data": "dataset", "config": "config"}


@dataclass(frozen=True)
class Difference:
    """One thing that differs; None on the side that does not have it."""

    kind: Kind
    name: str
    before: Any
    after: Any


def differences(report: SweepReport, loaded: LoadedManifest) -> list[Difference]:
    """Settings first, then entries, datasets and configs, then what would change the meaning of rollouts."""
    return [*_settings(report, loaded), *_parts(report, loaded), *_meaning(report, loaded)]


def _settings(report: SweepReport, loaded: LoadedManifest) -> list[Difference]:
    before = {each.name: each.value for each in report.settings}
    after = {each.name: _plain(each.value) for each in loaded.settings}
    return _compare("setting", before, after)


def _plain(value: Any) -> Any:
    """As the report's JSON holds it."""
    return list(value) if isinstance(value, tuple) else value


def _parts(report: SweepReport, loaded: LoadedManifest) -> list[Difference]:
    found = []
    for each in _compare("config", dict(report.digest_parts), dict(loaded.digest_parts)):
        prefix, _, name = each.name.partition(".")
        if prefix in _KINDS:
            found.append(Difference(_KINDS[prefix], name, each.before, each.after))
    return found


def _meaning(report: SweepReport, loaded: LoadedManifest) -> list[Difference]:
    now = meaning(loaded.manifest, loaded.roots)
    return [Difference("meaning", name, report.meaning[name], now[name]) for name in changed(report.meaning, now)]


def _compare(kind: Kind, before: dict[str, Any], after: dict[str, Any]) -> list[Difference]:
    names = [*before, *(name for name in after if name not in before)]
    return [
        Difference(kind, name, before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]
