"""Whether the configs that a manifest names exist, and whether each path means one file only.

Promise: looks for files; reads them only to compare two that one path could mean.
"""

import difflib
import filecmp
from collections.abc import Iterator
from pathlib import Path

from reward_profiling.manifest.gym_configs import Configs
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.validation.findings import Finding, Subject


def check(subject: Subject, configs: Configs) -> Iterator[Finding]:
    """Findings about every config that is named, or included by one that is (`configs`: all of them, read)."""
    for path, written in subject.named_configs():
        if subject.roots.find(written) is None:
            yield _not_found(subject, path, written)
        else:
            yield from _ambiguous(subject, path, written)
    script = subject.manifest.vllm.config
    if script is not None and subject.roots.find(script) is None:
        yield subject.error(("vllm", "config"), f"{script} is not found", _searched(subject.roots))
    for written, includer in configs.not_found:
        if includer:
            problem = f"{includer} includes {written}, which is not found"
            yield subject.error(("gym_env_start",), problem, _searched(subject.roots))
    for line in configs.unreadable:
        yield subject.error(("entries",), line)


def _not_found(subject: Subject, path: tuple[str | int, ...], written: str) -> Finding:
    roots = subject.roots
    near = _similar(written, roots)
    if near is not None:
        return subject.error(path, f"{written} is not found", f"did you mean {near}?")
    if Path(written).is_absolute() or roots.has_gym:
        cure = "check the path" if Path(written).is_absolute() else _searched(roots)
        return subject.error(path, f"{written} is not found", cure)
    cure = "set REWARD_PROFILING_GYM to a gym command, or REWARD_PROFILING_GYM_CHECKOUT"
    return subject.warning(path, f"{written} is not checked, because no NeMo Gym is at hand", cure)


def _searched(roots: SearchRoots) -> str:
    return "looked in " + ", ".join(f"{root} ({kind})" for kind, root in roots.roots)


def _similar(written: str, roots: SearchRoots) -> str | None:
    """A file whose name is close to the one asked for, in a folder that exists."""
    asked = Path(written)
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


def _ambiguous(subject: Subject, path: tuple[str | int, ...], written: str) -> Iterator[Finding]:
    first, *others = subject.roots.all(written)
    for other in others:
        if not filecmp.cmp(first.path, other.path, shallow=False):
            problem = f"{written} is {first.path} ({first.kind}), and {other.path} ({other.kind}) differs"
            yield subject.warning(path, problem, "write the absolute path of the one you mean")
