"""What is wrong with a manifest, one problem per line, with the place in the file.

Promise: a `Problem` is data (place, path, problem, cure); `refuse` turns any number of them into one exception whose
text is the first problem and how many more there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from reward_profiling.errors import ManifestError

Path = tuple[str | int, ...]


def dotted(path: Path) -> str:
    """`entries[0].label` for ("entries", 0, "label"); empty for the whole manifest."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong or doubtful; `place` is `file:line:column`, or where else the value came from."""

    place: str
    path: Path
    problem: str
    cure: str = ""

    @property
    def text(self) -> str:
        """The one line that a user reads."""
        return str(ManifestError(self.problem, place=self.place, cure=self.cure))


class ManifestProblemsError(ManifestError):
    """A manifest that does not load; `problems` holds all of what is wrong with it, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first, more = problems[0], len(problems) - 1
        self.problems = tuple(problems)
        last = first.cure or first.problem
        counted = f"{last} (+{more} more)" if more else last
        if first.cure:
            super().__init__(first.problem, place=first.place, cure=counted)
        else:
            super().__init__(counted, place=first.place)


def refuse(problems: Sequence[Problem]) -> NoReturn:
    """Raise all problems as one `ManifestProblemsError`."""
    raise ManifestProblemsError(problems)
