"""Earlier states of a sweep, kept under `snapshots/`, and why.

Promise: a snapshot says why it was taken. What a reshard or an adoption has set aside must still be in the sweep; what
was discarded need not, nor what was set aside before that.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from reward_profiling.errors import SweepError
from reward_profiling.files import storage_error, write_json
from reward_profiling.sweep.layout import SweepDir

Reason = Literal["reshard", "adopt", "discard"]
_RECORD = "snapshot.json"


@dataclass(frozen=True)
class Snapshot:
    """One earlier state."""

    path: Path
    reason: Reason


def snapshot_name(sweep: SweepDir, moment: str) -> str:
    """A name for a snapshot of `moment` (UTC, ISO 8601) that no snapshot has; later ones sort later."""
    stem = moment.replace(":", "")
    taken = {path.name for path in sweep.snapshots.glob(f"{stem}*")}
    return next(name for name in (stem, *(f"{stem}-{number:03d}" for number in range(1, 1000))) if name not in taken)


def write_record(snapshot: Path, reason: Reason, moment: str, **facts: Any) -> None:
    """Say in a snapshot why it was taken."""
    write_json(snapshot / _RECORD, {"reason": reason, "at": moment, **facts})


def owed_snapshots(sweep: SweepDir) -> list[Snapshot]:
    """The snapshots of which everything must still be in the sweep, oldest first."""
    found: list[Snapshot] = []
    for path in sorted(sweep.snapshots.glob("*")):
        reason = _reason(path)
        if reason == "discard":
            found = []
        elif reason is not None:
            found.append(Snapshot(path, reason))
    return found


def _reason(path: Path) -> Reason | None:
    """Why a snapshot was taken; None for what is no snapshot of ours."""
    try:
        record = orjson.loads((path / _RECORD).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise storage_error(path, error) from error
    except orjson.JSONDecodeError as error:
        raise SweepError("this is no record of a snapshot", place=str(path / _RECORD), cure="remove it") from error
    reason: Reason = record["reason"]
    return reason
