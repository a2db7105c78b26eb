"""What Dagster is told of profiles: the numbers per environment, and whether they are partial or simulated.

Promise: pure functions; a partial profile says so in its first line.
"""

from hashlib import blake2b
from typing import Any

import dagster as dg
import polars as pl

from reward_profiling.assets.tables import column_schema, markdown
from reward_profiling.checks import complete
from reward_profiling.profile.environment_summary import SUMMARY_SCHEMA
from reward_profiling.profile.sweep_profile import SweepProfile

_COUNTS = ("tasks", "scored", "outstanding", "failed", "masked")
_SHARES = ("pass_rate", "share_all_pass", "share_mixed", "share_all_fail")


def profile_metadata(made: SweepProfile) -> dict[str, Any]:
    """Metadata of one sweep's profile."""
    summary = made.summary
    return {
        "dagster/row_count": summary.height,
        "dagster/column_schema": column_schema(SUMMARY_SCHEMA),
        "state": state(made),
        "complete": made.complete,
        "simulated": made.simulated,
        "mixed": made.mixed,
        "environments": environments_table(summary),
        "manifest_digest": ", ".join(summary["manifest_digest"].unique()),
        "profiled_at": ", ".join(summary["profiled_at"].unique()),
        "summary": dg.MetadataValue.path(made.summary_path),
        "tables": markdown(("environment", "table"), made.tables.items()),
    }


def state(made: SweepProfile) -> str:
    """Complete or partial, real or simulated, of one meaning or mixed, in one line."""
    expected, outstanding = int(made.summary["expected"].sum()), int(made.summary["outstanding"].sum())
    text = complete.verdict(expected, outstanding, simulated=False).reason
    text = text if made.complete else f"PARTIAL: {text}"
    marks = [*(["simulated"] if made.simulated else []), *([f"MIXED: {made.mixed}"] if made.mixed else [])]
    return f"{text} ({'; '.join(marks)})" if marks else text


def environments_table(summary: pl.DataFrame, *names: str) -> dg.MarkdownMetadataValue:
    """The summary as people read it; `names` are columns to show first."""
    columns = (*names, "label", "state", "mean_reward", *_SHARES, *_COUNTS, "mean_output_tokens")
    rows = ([_cell(row, column) for column in columns] for row in summary.iter_rows(named=True))
    return markdown((column.replace("_", " ") for column in columns), rows)


def _cell(row: dict[str, Any], column: str) -> Any:
    if column == "state":
        marks = ["complete" if row["complete"] else "PARTIAL", *(["simulated"] if row["simulated"] else [])]
        marks += ["MIXED"] if row["mixed"] else []
        return ", ".join(marks)
    value = row[column]
    if not isinstance(value, float):
        return value
    return f"{value:.1%}" if column in _SHARES else f"{value:.4g}"


def verdict(made: SweepProfile) -> complete.Verdict:
    """The verdict of the check `complete` on what a profile holds."""
    expected, outstanding = int(made.summary["expected"].sum()), int(made.summary["outstanding"].sum())
    return complete.verdict(expected, outstanding, simulated=made.simulated)


def data_version(table: pl.DataFrame) -> str:
    """A digest of the numbers in a summary, whenever they were profiled."""
    return blake2b(table.drop("profiled_at").write_json().encode(), digest_size=16).hexdigest()
