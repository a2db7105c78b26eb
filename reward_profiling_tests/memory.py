"""A place for the files of tests in which the order of writes counts and their time on a disk does not."""

import os
from pathlib import Path

_SHARED_MEMORY = Path("/dev/shm")


def memory() -> Path | None:
    """A folder in memory, None where there is none: then the usual place for temporary files has to do."""
    return _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None
