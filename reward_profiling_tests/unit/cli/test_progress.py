"""Long work shows a bar on a terminal and now and then a line elsewhere."""

import io

import pytest
from rich.console import Console

from reward_profiling.cli import progress as cli_progress
from reward_profiling.sweep.progress import ProgressLines


def _console(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> io.StringIO:
    shown = io.StringIO()
    monkeypatch.setattr(cli_progress, "err", Console(file=shown, force_terminal=terminal, width=100))
    return shown


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _console(monkeypatch, terminal=True)
    with cli_progress.progress() as listener:
        listener.begin("reading datasets", 2_000_000)
        listener.at(1_000_000)
        listener.begin("writing work lists", 5_000_000)
        listener.at(5_000_000)
    assert "reading datasets" in shown.getvalue()
    assert "1.0/2.0 MB" in shown.getvalue()
    assert "5.0/5.0 MB" in shown.getvalue()


def test_a_log_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _console(monkeypatch, terminal=False)
    with cli_progress.progress() as listener:
        assert isinstance(listener, ProgressLines)
    assert shown.getvalue() == ""
