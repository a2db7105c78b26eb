"""Whether the datasets exist and their rows are what the entries say.

Promise: entries are looked at in parallel and reported in the order of the manifest; a place is `dataset:line`.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from reward_profiling.manifest.problems import Problem
from reward_profiling.manifest.schema import Manifest
from reward_profiling.manifest.validation.findings import Finding, Subject
from reward_profiling.manifest.validation.row_scan import RowScan, scan

Progress = Callable[[str, int], None]
"""Called with a label and the rows looked at, once per entry, as they are done."""


@dataclass
class DataResult:
    """Findings about datasets, and the rows looked at by label."""

    findings: list[Finding] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)


def check(subject: Subject, sample_rows: int, progress: Progress | None) -> DataResult:
    """Look at the first `sample_rows` rows of every dataset (0: all)."""
    result = DataResult()
    with _executor(len(subject.manifest.entries), whole=sample_rows == 0) as pool:
        scans = _start(subject, pool, sample_rows, progress)
        for number, entry in enumerate(subject.manifest.entries):
            found = subject.roots.find(entry.data)
            path = ("entries", number, "data")
            if found is None or number not in scans:
                roots = ", ".join(str(root) for _, root in subject.roots.roots)
                cure = "check the path" if Path(entry.data).is_absolute() else f"looked in {roots}"
                result.findings.append(subject.error(path, f"{entry.data} is not found", cure))
                continue
            try:
                looked = scans[number].result()
            except OSError as error:
                result.findings.append(subject.error(path, f"{found.path} cannot be read: {error.strerror}"))
                continue
            result.rows[entry.label] = looked.rows
            result.findings += _worded(subject, number, found.path, looked)
    return result


def _executor(entries: int, *, whole: bool) -> Executor:
    """Processes for whole files, which keep processors busy; threads for first rows, which wait for storage."""
    workers = max(1, min(entries, os.cpu_count() or 1))
    if whole:
        return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    return ThreadPoolExecutor(max(workers, min(entries, 16)))


def _start(subject: Subject, pool: Executor, most: int, progress: Progress | None) -> dict[int, Future[RowScan]]:
    scans = {}
    for number, entry in enumerate(subject.manifest.entries):
        found = subject.roots.find(entry.data)
        if found is None:
            continue
        scans[number] = pool.submit(scan, found.path, entry.agent, entry.agent_ref_override, most)
        if progress is not None:
            scans[number].add_done_callback(_teller(progress, entry.label))
    return scans


def _teller(progress: Progress, label: str) -> Callable[[Future[RowScan]], None]:
    return lambda done: progress(label, 0 if done.exception() else done.result().rows)


def _worded(subject: Subject, number: int, file: Path, looked: RowScan) -> Iterator[Finding]:
    path = ("entries", number, "data")
    if looked.rows == 0:
        yield subject.error(path, f"{file} has no rows", "check the path")
    for line, text in looked.problems:
        place = f"{file}:{line}"
        yield Finding("error", Problem(place, path, f"the row {text}", _cure(subject.manifest, number)))
    hidden = looked.problem_count - len(looked.problems)
    if hidden:
        yield subject.error(path, f"{file} has {hidden} more bad rows among the {looked.rows} looked at")
    for line, text in looked.doubts:
        yield Finding("warning", Problem(f"{file}:{line}", path, f"the row {text}"))


def _cure(manifest: Manifest, number: int) -> str:
    entry = manifest.entries[number]
    return f"mend the dataset, or the entry `{entry.label}` ({entry.effective_agent})"
