"""Work by several processes gives what one gives, in order, and leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reward_profiling.errors import DatasetError
from reward_profiling.sweep.workers import Advance, in_order

_PARENT = """
from pathlib import Path
from reward_profiling.sweep.workers import in_order
from reward_profiling_tests.unit.sweep.test_workers import wait_for_ever
if __name__ == "__main__":
    list(in_order(wait_for_ever, [(Path("{folder}"), number) for number in range(2)], 2))
"""


def square(advance: Advance, number: int) -> int:
    if number < 0:
        raise DatasetError("negative", place=str(number), cure="give another")
    # The first parts take longest.
    time.sleep(0.05 * max(0, 4 - number))
    advance(10)
    return number * number


def wait_for_ever(advance: Advance, folder: Path, number: int) -> None:
    (folder / str(number)).write_text(str(os.getpid()))
    while True:
        time.sleep(60)


def until_stopped(advance: Advance, folder: Path, number: int) -> None:
    if number == 0:
        raise DatasetError("bad", place="part 0", cure="none")
    (folder / "began").touch()
    while True:
        advance(1)
        time.sleep(0.01)


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_come_in_order_and_bytes_add_up(jobs: int) -> None:
    done: list[int] = []
    assert list(in_order(square, [(number,) for number in range(8)], jobs, done.append)) == [n * n for n in range(8)]
    assert done == sorted(done)
    assert done[-1] == 80


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_a_part_is_raised_as_it_is(jobs: int) -> None:
    with pytest.raises(DatasetError, match=r"^-1: negative; give another$") as refusal:
        list(in_order(square, [(4,), (-1,), (5,)], jobs))
    assert refusal.value.place == "-1"


def test_after_an_error_nobody_goes_on(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="bad"):
        list(in_order(until_stopped, [(tmp_path, number) for number in range(2)], 2))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(_PARENT.format(folder=tmp_path))
    parent = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": str(Path.cwd())})
    deadline = time.monotonic() + 60
    files = [tmp_path / "0", tmp_path / "1"]
    while not all(path.exists() and path.read_text() for path in files):
        assert parent.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    workers = [int(path.read_text()) for path in files]
    assert all(map(_alive, workers))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    while any(map(_alive, workers)):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.05)
