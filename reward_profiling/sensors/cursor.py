"""What the sensor remembers between ticks: the shard to begin with, and when it last reported progress.

Promise: data only; a text that cannot be read counts as no memory.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import orjson

from reward_profiling.assets.sweep import Sweep

Shard = tuple[Sweep, int]


@dataclass(frozen=True)
class Cursor:
    """`sweep` (nickname) and `shard` (number) are where the last tick ran out of time; `observed_at` is in Unix
    seconds."""

    sweep: str = ""
    shard: int = 0
    observed_at: float = 0.0

    @classmethod
    def read(cls, text: str | None) -> "Cursor":
        """The cursor that `text` holds."""
        try:
            return cls(**orjson.loads(text or "{}"))
        except (orjson.JSONDecodeError, TypeError):
            return cls()

    @property
    def text(self) -> str:
        return orjson.dumps(asdict(self)).decode()

    def from_here(self, shards: Sequence[Shard]) -> list[Shard]:
        """`shards` beginning with the one to begin with; as they are when it is not among them."""
        names = [(sweep.nickname, number) for sweep, number in shards]
        start = names.index((self.sweep, self.shard)) if (self.sweep, self.shard) in names else 0
        return [*shards[start:], *shards[:start]]
