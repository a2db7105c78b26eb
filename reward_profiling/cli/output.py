"""How the command line speaks: results on standard output, everything else on standard error.

Promise: with `--json` standard output holds one JSON document and nothing else.
"""

import sys
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

_WIDE = 240
# A file or a pipe has no width: nothing is folded there.
out = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
err = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _WIDE)


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    print(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())  # noqa: T201 - this is the output


def table(title: str, *columns: str, text: int = 1) -> Table:
    """A table whose first `text` columns are text and whose others are numbers."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for number, column in enumerate(columns):
        if number < text:
            made.add_column(column, overflow="fold", min_width=12)
        else:
            made.add_column(column, justify="right", no_wrap=True)
    return made


def note(line: str) -> None:
    """One line of progress on standard error."""
    err.print(line, markup=False)
