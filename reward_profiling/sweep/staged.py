"""Several files that appear together, each as a whole.

Promise: nothing lies under its final name before all of them are complete and on disk; a process that is killed leaves
one hidden directory, which the next one removes.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from reward_profiling.files import make_directory, storage_error, sync_directory


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yield an empty directory; the files in it when the block ends cleanly replace those of the same relative paths
    below `folder`. Only one process may do this to a folder at a time. Files must have been synced by their writer.
    """
    make_directory(folder)
    stage = folder / ".unfinished"
    try:
        if stage.exists():
            shutil.rmtree(stage)
        stage.mkdir()
    except OSError as error:
        raise storage_error(stage, error) from error
    try:
        yield stage
        _move(stage, folder)
    except OSError as error:
        raise storage_error(folder, error) from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _move(stage: Path, folder: Path) -> None:
    made = [path for path in sorted(stage.rglob("*")) if path.is_file()]
    targets = [folder / path.relative_to(stage) for path in made]
    for path, target in zip(made, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)  # noqa: PTH105 - replacing is the point
    for parent in {target.parent for target in targets}:
        sync_directory(parent)
