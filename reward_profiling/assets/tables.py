"""Tables and columns as Dagster shows them."""

from collections.abc import Iterable, Mapping
from typing import Any

import dagster as dg
import polars as pl

from reward_profiling.sweep.status import Counts


def markdown(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> dg.MarkdownMetadataValue:
    """A Markdown table; None is shown as an empty cell."""
    names = list(columns)
    lines = [_line(names), _line("---" for _ in names), *(_line(row) for row in rows)]
    return dg.MetadataValue.md("\n".join(lines))


def _line(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return " ".join(str(value).replace("|", "\\|").split())


def counts_table(first: str, counts: Mapping[str, Counts]) -> dg.MarkdownMetadataValue:
    """Counts by what `first` names; expected = succeeded + failed + outstanding in each row."""
    columns = (first, "expected", "succeeded", "masked", "failed", "outstanding")
    rows = (
        (name, each.expected, each.succeeded, each.masked, each.failed_total, each.outstanding)
        for name, each in counts.items()
    )
    return markdown(columns, rows)


def column_schema(schema: Mapping[str, pl.DataType]) -> dg.TableSchema:
    """The columns of a Polars table."""
    return dg.TableSchema(columns=[dg.TableColumn(name, str(dtype)) for name, dtype in schema.items()])
