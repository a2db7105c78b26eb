"""Progress of long work: a bar on a terminal, a line now and then elsewhere, on standard error either way."""

import contextlib
from collections.abc import Iterator

from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

from reward_profiling.cli.output import err, note
from reward_profiling.sweep.progress import Progress, ProgressLines


class _Bar:
    """One bar per piece of work."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars

    def begin(self, what: str, total: int) -> None:
        self._task = self._bars.add_task(what, total=total)

    def at(self, done: int) -> None:
        self._bars.update(self._task, completed=done)


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Listens to work for as long as the block lasts."""
    if not err.is_terminal:
        yield ProgressLines(note)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, TimeRemainingColumn(), console=err) as bars:
        yield _Bar(bars)
