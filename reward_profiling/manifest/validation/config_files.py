"""Whether the configs that a manifest names exist, and whether each path means one file only.

Promise: looks for files; reads them only to compare two that one path could mean.
"""

import difflib
import filecmp
from collections.abc import Iterator
from pathlib import Path as FilePath

from reward_profiling.manifest.gym_configs import Configs
from reward_profiling.manifest.problems import Path
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.validation.findings import Finding, Subject


def check(subject: Subject, configs: Configs) -> Iterator[Finding]:
    """Findings about every config that is named, or included by one that is (`configs`: all of them, read)."""
    unseen = []
    for path, written in subject.named_configs():
        if subject.roots.find(written) is not None:
            yield from _ambiguous(subject, path, written)
        elif (error := _not_found(subject, path, written, "")) is not None:
            yield error
        else:
            unseen.append((path, written))
    for written, includer in configs.not_found:
        place: Path = ("gym_env_start",)
        if includer and (error := _not_found(subject, place, written, includer)) is not None:
            yield error
        elif includer:
            unseen.append((place, written))
    if unseen:
        yield _unseen(subject, unseen)
    script = subject.manifest.vllm.config
    if script is not None and subject.roots.find(script) is None:
        yield subject.error(("vllm", "config"), f"{script} is not found", _searched(subject.roots))
    for line in configs.unreadable:
        yield subject.error(("entries",), line)


def _unseen(subject: Subject, unseen: list[tuple[Path, str]]) -> Finding:
    """The one warning about all configs that only a NeMo Gym could show."""
    first, written = unseen[0]
    count = len({name for _, name in unseen})
    what = written if count == 1 else f"{written} and {count - 1} more"
    problem = f"{what} and the servers declared there are not checked, because no NeMo Gym is at hand"
    cure = "set REWARD_PROFILING_GYM to a gym command, or REWARD_PROFILING_GYM_CHECKOUT"
    return subject.warning(first, problem, cure)


def _not_found(subject: Subject, path: Path, written: str, includer: str) -> Finding | None:
    """The error of a config that is nowhere; None when it may be NeMo Gym's own and there is none to look into."""
    roots = subject.roots
    problem = f"{includer} includes {written}, which is not found" if includer else f"{written} is not found"
    near = _similar(written, roots)
    if near is not None:
        return subject.error(path, problem, f"did you mean {near}?")
    if FilePath(written).is_absolute():
        return subject.error(path, problem, "check the path")
    return subject.error(path, problem, _searched(roots)) if roots.has_gym else None


def _searched(roots: SearchRoots) -> str:
    return "looked in " + ", ".join(f"{root} ({kind})" for kind, root in roots.roots)


def _similar(written: str, roots: SearchRoots) -> str | None:
    """A file whose name is close to the one asked for, in a folder that exists."""
    asked = FilePath(written)
    folders = [asked.parent] if asked.is_absolute() else [root / asked.parent for _, root in roots.roots]
    for folder in folders:
        try:
            names = [each.name for each in folder.iterdir() if each.suffix == asked.suffix]
        except OSError:
            continue
        close = difflib.get_close_matches(asked.name, names, n=1, cutoff=0.8)
        if close:
            return str(asked.parent / close[0])
    return None


def _ambiguous(subject: Subject, path: Path, written: str) -> Iterator[Finding]:
    first, *others = subject.roots.all(written)
    for other in others:
        if not _same(first.path, other.path):
            problem = f"{written} is {first.path} ({first.kind}), and {other.path} ({other.kind}) differs"
            yield subject.warning(path, problem, "write the absolute path of the one you mean")


def _same(left: FilePath, right: FilePath) -> bool:
    try:
        return filecmp.cmp(left, right, shallow=False)
    except OSError:
        return False
