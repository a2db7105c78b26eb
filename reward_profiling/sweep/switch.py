"""One layout of a sweep takes the place of another, as a whole or not at all.

Promise: what is built under `next/` counts for nothing until the journal `switch.json` is there. From then on the
journal says what moves where, nobody takes the sweep for whole, and whoever comes next finishes. A process killed at
any instant leaves the old layout, or all that the new one takes. What is displaced goes to a snapshot by rename, so it
costs no copy and is never altered.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from reward_profiling.errors import SweepError
from reward_profiling.files import exclusive_lock, storage_error, sync_directory, write_json
from reward_profiling.sweep.layout import SweepDir

_TRIES = 10


class Journal(BaseModel):
    """What a switch does. Names are relative to the sweep directory, to `next/` and to the snapshot alike."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    command: str
    """The command line that finishes the switch."""
    snapshot: str
    """The name of the directory under `snapshots/` that takes what is displaced; see `waiting_snapshot`."""
    displaced: tuple[str, ...]
    placed: tuple[str, ...]
    discarded: tuple[str, ...] = ()
    """Patterns of what the snapshot need not keep, because it can be made again."""


@contextlib.contextmanager
def changing(sweep: SweepDir, *, wait: bool = False) -> Iterator[None]:
    """Be the one process that changes tasks or layout; refused, or waited for, while another is."""
    if not sweep.path.is_dir():
        raise SweepError("there is no such directory", place=str(sweep.path), cure="name a sweep's directory")
    with exclusive_lock(sweep.change_lock, wait=wait) as held:
        if not held:
            raise SweepError(
                "another process is changing this sweep", place=str(sweep.path), cure="run again when it has ended"
            )
        yield


def refuse_half_switched(sweep: SweepDir) -> None:
    """Raise `SweepError` while one layout is taking the place of another."""
    journal = _read(sweep)
    if journal is not None:
        raise SweepError(
            "one layout is taking the place of another here, or was when the process that did it ended",
            place=str(sweep.path),
            cure=f"wait for that process, or finish its work: `{journal.command}`",
        )


def switch(sweep: SweepDir, journal: Journal) -> None:
    """Put what is ready under `next/` in its place; call it while `changing`, and when nothing runs on the sweep."""
    try:
        _sync_tree(sweep.next.path)
        write_json(sweep.journal, journal.model_dump(mode="json"))
        _carry_out(sweep, journal)
    except OSError as error:
        raise storage_error(sweep.path, error) from error


def recover(sweep: SweepDir) -> None:
    """Finish a switch that was begun, and drop what was being built without; call it while `changing`."""
    journal = _read(sweep)
    try:
        if journal is not None:
            _carry_out(sweep, journal)
        elif sweep.next.path.exists():
            shutil.rmtree(sweep.next.path)
    except OSError as error:
        raise storage_error(sweep.path, error) from error


def waiting_snapshot(sweep: SweepDir) -> Path:
    """Where the snapshot of a switch is prepared: what is put there is kept beside what is displaced."""
    return sweep.next.path / "snapshot"


def _read(sweep: SweepDir) -> Journal | None:
    try:
        return Journal.model_validate(orjson.loads(sweep.journal.read_bytes()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(sweep.journal, error) from error
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise SweepError(
            "this is no journal of this version", place=str(sweep.journal), cure="use the version that wrote it"
        ) from error


def _carry_out(sweep: SweepDir, journal: Journal) -> None:
    """Every step can be taken twice: what has been moved already is left alone."""
    snapshot = sweep.snapshots / journal.snapshot
    sweep.snapshots.mkdir(exist_ok=True)
    if waiting_snapshot(sweep).exists():
        waiting_snapshot(sweep).rename(snapshot)
    for name in journal.displaced:
        placed_already = name in journal.placed and not (sweep.next.path / name).exists()
        if not placed_already and (sweep.path / name).exists() and not (snapshot / name).exists():
            (sweep.path / name).rename(snapshot / name)
    for name in journal.placed:
        if (sweep.next.path / name).exists():
            _place(sweep.next.path / name, sweep.path / name, snapshot)
    for path in (snapshot, sweep.snapshots, sweep.path):
        sync_directory(path)
    _discard(snapshot, journal.discarded)
    shutil.rmtree(sweep.next.path, ignore_errors=True)
    sweep.journal.unlink()
    sync_directory(sweep.path)


def _place(new: Path, target: Path, snapshot: Path) -> None:
    """Rename over a file, or after putting aside what a reader that came too late has made in a directory's place."""
    for _ in range(_TRIES):
        with contextlib.suppress(OSError):
            os.replace(new, target)  # noqa: PTH105 - replacing is the point
            return
        if target.is_dir():
            target.rename(snapshot / f"stray_{os.urandom(4).hex()}")
    os.replace(new, target)  # noqa: PTH105 - the refusal is the caller's to report


def _discard(snapshot: Path, patterns: tuple[str, ...]) -> None:
    for path in [found for pattern in patterns for found in snapshot.glob(pattern)]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _sync_tree(path: Path) -> None:
    for folder, _, _ in os.walk(path):
        sync_directory(Path(folder))
