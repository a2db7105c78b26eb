"""A disk that is full, refuses or fails at any moment: one line says so, nothing is missing, and all can go on."""

import errno
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from reward_profiling_tests.parts import missing
from reward_profiling_tests.property.crash.conftest import Children
from reward_profiling_tests.property.crash.walk import Walk

ERRORS = {"ENOSPC": errno.ENOSPC, "EACCES": errno.EACCES, "EIO": errno.EIO}
ROUNDS = 8
ARGUMENTS = {
    "materialize": {"tasks": 5, "repeats": 3, "labels": 3},
    "index": {},
    "reshard": {"num_shards": 3},
    "merge": {},
    "split": {},
    "ledger": {"steps": 2, "end": True},
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("operation", ARGUMENTS)
def test_the_system_refuses_at_some_moment(children: Children, dice: random.Random, operation: str, error: str) -> None:
    walk = Walk(children, dice)
    arguments = dict(ARGUMENTS[operation])
    held = walk.holds()
    events = 150
    for number in range(ROUNDS):
        if operation == "index":
            shutil.rmtree(walk.sweep.shard(1).index, ignore_errors=True)
        if operation == "reshard":
            arguments["num_shards"] = 3 + number % 2
        fail = {"at": dice.randint(1, events), "errno": ERRORS[error]}
        ended = children.run(operation, arguments, fail=fail)
        events = ended.events or events
        # A refusal to tidy up may be passed over; any other ends the operation, and says why in one line.
        assert ended.end in ("done", "refused")
        if ended.end == "refused":
            assert os.strerror(ERRORS[error]) in ended.text
            assert "\n" not in ended.text
        walk.age()
        if operation == "materialize":
            walk.shape.update(arguments)
        else:
            walk.nothing_is_missing(held)
    walk.finish(operation, arguments)
    walk.sound(held)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a size that can be changed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], capture_output=True).returncode:
        missing("a small file system", "run as root, who can mount a tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def resize(folder: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


@pytest.mark.parametrize("operation", ["materialize", "index", "reshard", "merge", "split"])
def test_a_disk_that_is_really_full(children: Children, small_disk: Path, dice: random.Random, operation: str) -> None:
    here = Children(children.server, small_disk)
    walk = Walk(here, dice)
    walk.shape.update(repeats=40)
    walk.finish("materialize", walk.shape)
    for _ in range(4):
        walk.collect()
    held = walk.holds()
    if operation == "index":
        for number in range(4):
            shutil.rmtree(walk.sweep.shard(number).index)
    arguments = {**ARGUMENTS[operation], **({"repeats": 60, "labels": 2} if operation == "materialize" else {})}
    used = shutil.disk_usage(small_disk).used
    resize(small_disk, used + 12 * 1024)
    ended = here.run(operation, arguments, fail=None)
    assert (ended.end, "No space left on device" in ended.text) == ("refused", True), ended.text
    assert not list(small_disk.rglob(".unfinished/*"))
    resize(small_disk, 64 << 20)
    walk.age()
    if operation == "materialize":
        walk.shape.update(arguments)
    else:
        walk.nothing_is_missing(held)
    walk.finish(operation, arguments)
    walk.sound(held)
