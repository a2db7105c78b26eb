"""NeMo Gym's rule for what it will never dispatch again (Gym contract 3.3).

Promise: for a work list, `outstanding` is exactly what `gym eval run --resume` would send.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

MAX_ATTEMPTS_VARIABLE = "NEMO_GYM_MAX_ROLLOUT_ATTEMPTS"
DEFAULT_MAX_ATTEMPTS = 3
_RETRIED_TIMEOUTS = ("timeout_exceeded", "reference_missing", "eval_missing", "transport_ineligible")
_ALWAYS_TERMINAL = "skipped"


@dataclass(frozen=True)
class GatingRule:
    """`max_attempts` failed attempts gate a rollout; `retry_terminal_timeouts` is Gym's option of that name."""

    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    retry_terminal_timeouts: bool = False

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], *, retry_terminal_timeouts: bool = False) -> "GatingRule":
        """The rule that a Gym with this environment follows: invalid or below 1 means the default."""
        try:
            attempts = int(environment.get(MAX_ATTEMPTS_VARIABLE, DEFAULT_MAX_ATTEMPTS))
        except ValueError:
            attempts = DEFAULT_MAX_ATTEMPTS
        return cls(attempts if attempts >= 1 else DEFAULT_MAX_ATTEMPTS, retry_terminal_timeouts)


def terminal(rule: GatingRule) -> pl.Expr:
    """Whether a sidecar row (columns `failure_class`, `terminal`) gates its rollout by itself."""
    stamped = pl.col("terminal")
    if not rule.retry_terminal_timeouts:
        return stamped
    kind = pl.col("failure_class")
    return (kind == _ALWAYS_TERMINAL) | (stamped & ~kind.is_in(_RETRIED_TIMEOUTS))


def gate_failures(failures: pl.DataFrame, rule: GatingRule) -> pl.DataFrame:
    """One row per key that failed: `task_index`, `rollout_index`, `attempts`, `failure_class` of the last failed
    attempt, `gated` (terminal or out of attempts)."""
    return failures.group_by("task_index", "rollout_index", maintain_order=True).agg(
        attempts=pl.len(),
        failure_class=pl.col("failure_class").last(),
        gated=terminal(rule).any() | (pl.len() >= rule.max_attempts),
    )
