"""Where relative paths of a manifest are looked for, and which of them a job would find by itself.

Promise: the first root that holds the file wins, in this order: the working directory, the manifest's own folder, the
directories of NEMO_GYM_EXTRA_ROOTS, a checkout of NeMo Gym (REWARD_PROFILING_GYM_CHECKOUT), an installed NeMo Gym
(REWARD_PROFILING_GYM, else `gym` on PATH). Nothing is imported or started.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

RootKind = Literal["absolute", "working directory", "manifest folder", "extra root", "checkout", "installed gym"]


@dataclass(frozen=True)
class Found:
    """A file and the kind of root that held it."""

    path: Path
    kind: RootKind


@dataclass(frozen=True)
class SearchRoots:
    """The roots of one manifest, in order."""

    roots: tuple[tuple[RootKind, Path], ...]

    @classmethod
    def of(
        cls, manifest_folder: Path, environ: Mapping[str, str], *, working_directory: Path | None = None
    ) -> "SearchRoots":
        """The roots for a manifest in `manifest_folder` under `environ`; directories that do not exist are left out."""
        candidates: list[tuple[RootKind, Path]] = [
            ("working directory", working_directory or Path.cwd()),
            ("manifest folder", manifest_folder),
        ]
        extra = environ.get("NEMO_GYM_EXTRA_ROOTS", "")
        candidates += [("extra root", Path(each)) for each in extra.split(os.pathsep) if each]
        if checkout := environ.get("REWARD_PROFILING_GYM_CHECKOUT"):
            candidates.append(("checkout", Path(checkout)))
        if (installed := installed_gym(environ)) is not None:
            candidates.append(("installed gym", installed))
        found: dict[Path, RootKind] = {}
        for kind, path in candidates:
            if os.path.isdir(path):  # noqa: PTH112 - False where Path.is_dir raises (no permission, name too long)
                found.setdefault(path.resolve(), kind)
        return cls(tuple((kind, path) for path, kind in found.items()))

    def find(self, path: str) -> Found | None:
        """The file that `path` names, absolute; None when no root holds it."""
        return next(self.all(path), None)

    def all(self, path: str) -> Iterator[Found]:
        """Every file that `path` could name, the one that wins first."""
        if Path(path).is_absolute():
            if _is_file(Path(path)):
                yield Found(Path(path), "absolute")
            return
        for kind, root in self.roots:
            if _is_file(root / path):
                yield Found(root / path, kind)

    @property
    def job_search_path(self) -> str:
        """NEMO_GYM_EXTRA_ROOTS for a job that is to find included configs as they are found here.

        NeMo Gym looks there first and in its own installation last (Gym contract 2), which is the order of `roots`.
        """
        return os.pathsep.join(str(root) for kind, root in self.roots if kind != "installed gym")

    @property
    def has_gym(self) -> bool:
        """Whether NeMo Gym's own files are at hand, so that a path that is not found is wrong."""
        return any(kind in {"checkout", "installed gym"} for kind, _ in self.roots)


def _is_file(path: Path) -> bool:
    """Whether a file is seen at `path`; what cannot be looked at (no permission, name too long) is not seen."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises where this says False


def gym_command(environ: Mapping[str, str]) -> Path | None:
    """The `gym` executable that jobs would use; None when there is none, as with the collector stand-in."""
    command = shutil.which(environ.get("REWARD_PROFILING_GYM") or "gym", path=environ.get("PATH"))
    return Path(command).absolute() if command else None


def installed_gym(environ: Mapping[str, str]) -> Path | None:
    """The directory that holds `nemo_gym` and `resources_servers` of the `gym` that jobs would use, or None."""
    command = gym_command(environ)
    if command is None:
        return None
    for executable in (command, command.resolve()):
        for packages in sorted(executable.parent.parent.glob("lib/python3*/site-packages")):
            for root in (packages, *_editable(packages)):
                if (root / "nemo_gym").is_dir() and (root / "resources_servers").is_dir():
                    return root
    return None


def _editable(packages: Path) -> Iterator[Path]:
    """Directories that `.pth` files of an installation add: where an editable install keeps its files."""
    for listing in sorted(packages.glob("*.pth")):
        for line in listing.read_text(errors="replace").splitlines():
            if line.startswith("/"):
                yield Path(line.strip())
