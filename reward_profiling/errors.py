"""Every error a user can meet, as one line that names the place, the problem and the cure.

Promise: whatever this package refuses, it refuses by raising a `RewardProfilingError`; anything else that reaches a
user is a defect. The class decides the exit code of the command line (`exit_code`).
"""

from typing import ClassVar


class RewardProfilingError(Exception):
    """Base of all errors; its text is one line, `place: problem; cure`."""

    exit_code: ClassVar[int] = 1

    def __init__(self, problem: str, *, place: str = "", cure: str = "") -> None:
        self.problem = " ".join(problem.split())
        self.place = place
        self.cure = " ".join(cure.split())
        text = f"{place}: {self.problem}" if place else self.problem
        super().__init__(f"{text}; {self.cure}" if self.cure else text)


class BadInputError(RewardProfilingError):
    """Something the user gave is wrong; nothing was written."""

    exit_code = 2


class ManifestError(BadInputError):
    """A manifest that does not load, validate or resolve; the place is `file:line:column`."""


class DatasetError(BadInputError):
    """A dataset that is missing, unreadable or holds a bad row; the place is `file:line`."""


class SweepError(BadInputError):
    """A sweep directory that is missing, damaged, or not in the state that a command needs."""


class RefusedError(BadInputError):
    """What was asked would lose or double collected rollouts; the cure says how to go on."""


class LaunchError(BadInputError):
    """A job cannot be prepared as asked: no Gym, no policy, a setting that contradicts another."""


class RolloutsError(BadInputError):
    """A work list or rollout file whose content cannot be trusted (duplicate, foreign or broken rows)."""


class IncompleteError(RewardProfilingError):
    """The command ran, and its result is not complete: rollouts are outstanding or a shard was stopped."""


class StorageError(RewardProfilingError):
    """The operating system refused to read or write (disk full, permission, I/O error)."""


class SchedulerUnknownError(RewardProfilingError):
    """The scheduler did not answer, or not understandably: ask again. Never means that a job ended or failed."""
