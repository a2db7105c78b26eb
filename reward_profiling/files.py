"""Files that are either the old ones or the new ones, never half of each.

Promise: whatever is written here under its final name is complete and on disk (temporary name in the same directory,
fsync, rename, fsync of the directory). Append-only logs tolerate a torn last line. Refusals of the operating system
become `StorageError` and leave no temporary file behind.
"""

import contextlib
import fcntl
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from reward_profiling.errors import StorageError

_OS_ERROR = re.compile(r"\(os error (\d+)\)")


def storage_error(path: Path, error: OSError) -> StorageError:
    """The one-line form of an operating-system refusal on `path`."""
    cure = "free space on this file system and run again" if error.errno == 28 else "mend this and run again"
    return StorageError(error.strerror or str(error), place=str(path), cure=cure)


def make_directory(path: Path) -> None:
    """Make `path` and what is missing above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(path, error) from error


def sync_directory(path: Path) -> None:
    """Make renames inside `path` durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on a clean exit it becomes `path`, on any other it is removed.

    For writers that want a name (Parquet, DuckDB). The parent directory is made when missing.
    """
    make_directory(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        yield temporary
        descriptor = os.open(temporary, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)  # noqa: PTH105 - rename over an existing file is the point
        sync_directory(path.parent)
    except OSError as error:
        raise storage_error(path, error) from error
    except Exception as error:
        refused = _wrapped(error)
        if refused is None:
            raise
        raise storage_error(path, refused) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _wrapped(error: Exception) -> OSError | None:
    """What the operating system refused, where a library that writes by itself says so in its own exception."""
    found = _OS_ERROR.search(str(error))
    return None if found is None else OSError(int(found[1]), os.strerror(int(found[1])))


def remove_temporaries(path: Path) -> None:
    """Remove what writers of `path` left when they were killed; call this only where no writer can be alive."""
    try:
        found = list(path.parent.glob(f".{path.name}.*.tmp"))
    except OSError as error:
        raise storage_error(path.parent, error) from error
    for temporary in found:
        remove(temporary)


def remove(path: Path) -> None:
    """Remove a file that may be there."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(path, error) from error


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a binary file that becomes `path` when the block ends cleanly."""
    with atomic_path(path) as temporary, temporary.open("xb") as stream:
        yield stream
        stream.flush()


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with atomic_file(path) as stream:
        stream.write(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` atomically, as UTF-8."""
    write_bytes(path, content.encode())


def write_json(path: Path, content: Any) -> None:
    """Write `content` to `path` atomically, as indented JSON with a final newline."""
    write_bytes(path, orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


@contextlib.contextmanager
def exclusive_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold an advisory lock on `path` (created when missing); yields False when `wait` is off and another holds it.

    The lock ends with the process that holds it, so a killed process never leaves one behind.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise storage_error(path, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def append_json_line(path: Path, record: dict[str, Any]) -> None:
    """Append one JSON line durably; a torn tail left by a crash is first closed with a newline.

    Appenders exclude each other by a lock on the file itself.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            end = stream.seek(0, os.SEEK_END)
            prefix = b""
            if end:
                stream.seek(end - 1)
                prefix = b"" if stream.read(1) == b"\n" else b"\n"
            stream.write(prefix + orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise storage_error(path, error) from error


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The readable object lines of an append-only log of ours, oldest first; torn lines are passed over."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise storage_error(path, error) from error
    records = []
    for line in content.splitlines():
        with contextlib.suppress(orjson.JSONDecodeError):
            record = orjson.loads(line)
            if isinstance(record, dict):
                records.append(record)
    return records
