"""What the last look at a shard found, kept beside its rollout index, and when looks before it found what.

Promise: `recall` answers only for the very bytes, tasks, layout and rule that were judged, and then as that look did.
It is a convenience: lost or damaged, the next look judges anew and only the samples are gone.
"""

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from reward_profiling.files import exclusive_lock, remove_temporaries, storage_error, write_bytes
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.layout import ShardDir
from reward_profiling.sweep.pace import WINDOW_SECONDS
from reward_profiling.sweep.status import Counts, Sample, ShardStatus

_SPACING_SECONDS = 60.0
"""Samples lie at least this far apart, the newest excepted."""


@dataclass(frozen=True)
class Basis:
    """All that the counts of a shard follow from. `rollouts` and `failures` are the fingerprints of what was read."""

    tasks_digest: str
    layout: Layout
    max_attempts: int
    retry_terminal_timeouts: bool
    rollouts: str
    failures: str


@dataclass(frozen=True)
class _LastLook:
    basis: Basis
    status: ShardStatus
    version: int = 1


_STORED = TypeAdapter(_LastLook)


def recall(shard: ShardDir, basis: Basis, *, now: float | None = None) -> ShardStatus | None:
    """The status that the last look found, with a sample of this moment, or None when it had another basis."""
    path = _path(shard)
    known = _load(path)
    if known is None or known.basis != basis:
        return None
    now = time.time() if now is None else now
    _unchanged_at(path, now)
    return _with_samples(known.status, (*known.status.samples, _sample(now, known.status.by_label)))


def remember(shard: ShardDir, basis: Basis, status: ShardStatus, *, now: float | None = None) -> ShardStatus:
    """Keep what a look found; the status with its samples."""
    path = _path(shard)
    now = time.time() if now is None else now
    if not shard.path.is_dir():
        return _with_samples(status, (_sample(now, status.by_label),))
    with exclusive_lock(shard.index / "lock"):
        remove_temporaries(path)
        known = _load(path)
        samples = () if known is None else _until(path, known.status.samples)
        sampled = _with_samples(status, (*samples, _sample(now, status.by_label)))
        write_bytes(path, _STORED.dump_json(_LastLook(basis, replace(sampled, last_row_at=None))))
        _unchanged_at(path, now)
    return sampled


def _path(shard: ShardDir) -> Path:
    return shard.index / "last_look.json"


def _load(path: Path) -> _LastLook | None:
    try:
        known = _STORED.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(path, error) from error
    except ValidationError:
        return None
    return known if known.version == _LastLook.version else None


def _unchanged_at(path: Path, moment: float) -> None:
    """Let the file's time say until when nothing had changed: cheaper than to write it again."""
    with contextlib.suppress(OSError):
        os.utime(path, (moment, moment))


def _sample(at: float, by_label: Mapping[str, Counts]) -> Sample:
    return Sample(at, {label: counts.gated for label, counts in by_label.items()})


def _until(path: Path, samples: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """`samples` and one of the last moment at which nothing had changed since."""
    return (*samples, replace(samples[-1], at=max(path.stat().st_mtime, samples[-1].at))) if samples else samples


def _with_samples(status: ShardStatus, samples: tuple[Sample, ...]) -> ShardStatus:
    """`samples` without those that say little: too close to each other, or too old to be asked for."""
    *earlier, newest = samples
    spaced: list[Sample] = []
    for sample in earlier:
        if not spaced or sample.at - spaced[-1].at >= _SPACING_SECONDS:
            spaced.append(sample)
    old = [sample for sample in spaced if sample.at <= newest.at - WINDOW_SECONDS]
    return replace(status, samples=(*old[-1:], *spaced[len(old) :], newest))
