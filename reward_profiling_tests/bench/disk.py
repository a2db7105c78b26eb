"""What `dd` writes on the disk at hand, to compare with in the same run."""

import subprocess
import time
from pathlib import Path

BLOCK = 8 << 20


def dd(source: Path, directory: Path, size: int) -> float:
    """Bytes per second at which `dd` copies `size` bytes of `source` (again and again) to a file, fsync included.

    `source` should be in the page cache, so that writing alone is measured.
    """
    target = directory / "dd.bin"
    blocks = max(source.stat().st_size // BLOCK, 1)
    written, started = 0, time.perf_counter()
    while written < size:
        count = min(blocks, -(-(size - written) // BLOCK))
        last = written + count * BLOCK >= size
        sync = "conv=notrunc,fsync" if last else "conv=notrunc"
        options = [f"if={source}", f"of={target}", f"bs={BLOCK}", f"count={count}", "oflag=append", sync]
        subprocess.run(["dd", *options, "status=none"], check=True)
        written += count * BLOCK
    speed = target.stat().st_size / (time.perf_counter() - started)
    target.unlink()
    return speed
