"""How far the rollout index has read, and the proof that it is still the same file.

Promise: data and fingerprints. `still_same` is False whenever a file was truncated, replaced or rewritten before the
place we have read to; the index is then built anew.
"""

import os
from hashlib import blake2b
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from reward_profiling.files import storage_error, write_bytes

_FINGERPRINT_BYTES = 4096


class Segment(BaseModel):
    """One Parquet file of index rows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    rows: int


class FileState(BaseModel):
    """One of Gym's two files: bytes read so far, fingerprints of their first and last 4096, rows by segment, and the
    number of lines that hold no row."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    read_to: int = 0
    fingerprint: str = ""
    broken: int = 0
    segments: tuple[Segment, ...] = ()


class IndexState(BaseModel):
    """`rollout_index/state.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = 1
    rollouts: FileState = FileState()
    failures: FileState = FileState()


def fingerprint(path: Path, read_to: int) -> str:
    """Digest of the first and the last 4096 bytes before `read_to`, and of `read_to` itself."""
    digest = blake2b(str(read_to).encode(), digest_size=16)
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            digest.update(os.pread(descriptor, min(_FINGERPRINT_BYTES, read_to), 0))
            start = max(0, read_to - _FINGERPRINT_BYTES)
            digest.update(os.pread(descriptor, read_to - start, start))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise storage_error(path, error) from error
    return digest.hexdigest()


def still_same(path: Path, size: int, state: FileState) -> bool:
    """Whether the bytes that were read are still there, `size` being the file's size now."""
    if state.read_to == 0:
        return True
    return size >= state.read_to and fingerprint(path, state.read_to) == state.fingerprint


def load_state(path: Path) -> IndexState:
    """The state at `path`; an empty one when there is none or it cannot be trusted."""
    try:
        state = IndexState.model_validate(orjson.loads(path.read_bytes()))
    except FileNotFoundError:
        return IndexState()
    except OSError as error:
        raise storage_error(path, error) from error
    except (orjson.JSONDecodeError, ValidationError):
        return IndexState()
    return state if state.version == IndexState().version else IndexState()


def save_state(path: Path, state: IndexState) -> None:
    """Write the state atomically."""
    write_bytes(path, orjson.dumps(state.model_dump(), option=orjson.OPT_APPEND_NEWLINE))
