"""What a check of a sweep has found.

Promise: data only. A check without findings has looked at `looked_at` things and found each as it should be.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Check:
    """One invariant: its name, what it promises, and where it does not hold."""

    name: str
    promise: str
    looked_at: int = 0
    findings: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings

    def look(self, count: int = 1) -> None:
        """Count what was looked at."""
        self.looked_at += count

    def find(self, place: object, problem: str) -> None:
        """Note where it does not hold."""
        self.findings.append(f"{place}: {problem}")

    def expect(self, holds: bool, place: object, problem: str) -> None:
        """Look at one thing, and note it unless it holds."""
        self.look()
        if not holds:
            self.find(place, problem)


def some(items: Iterable[object], count: int, most: int = 3) -> str:
    """`a, b, c and 5 more` of `count` items."""
    shown = [str(item) for item, _ in zip(items, range(most), strict=False)]
    return ", ".join(shown) + (f" and {count - len(shown)} more" if count > len(shown) else "")
