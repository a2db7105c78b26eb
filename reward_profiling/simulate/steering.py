"""How a run of the stand-in is steered: seed, skill, pace, size, and faults on demand.

Promise: one frozen `Steering`; precedence is the manifest's (the `simulate` block of the Gym configs), then the
environment (`REWARD_PROFILING_SIMULATE_<FIELD>`, JSON for mappings), then the command line (`++simulate.<field>=`).
A key or value that cannot be read is refused with exit code 2, because a fault that was misspelt would not happen.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import orjson

from reward_profiling.errors import BadInputError

ENVIRONMENT_PREFIX = "REWARD_PROFILING_SIMULATE_"


@dataclass(frozen=True)
class Steering:
    """The settings of one run. Times are seconds; rates are shares of rollouts between 0 and 1."""

    seed: int = 0
    """Decides every outcome together with the task's content and the rollout index."""

    skills: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Label -> (alpha, beta) of the distribution of its tasks' pass probabilities; other labels get one by the seed."""

    latency_s: float = 0.0
    """Median time that a rollout takes; 0 is as fast as this machine writes."""

    latency_sigma: float = 0.0
    """Log-normal spread of `latency_s`: 0 is none, 1 has one rollout in ten take 3.6 times the median."""

    rollouts_per_second: float = 0.0
    """At most so many rows per second; 0 is no limit."""

    response_bytes: int = 0
    """Size of each answer's text."""

    failures: Mapping[str, float] = field(default_factory=dict)
    """Failure class -> share of attempts that end so. `agent_run_error` and `agent_request_failed` abort the run unless
    they are routed to the sidecar; any other class is written there always."""

    terminal_rate: float = 0.0
    """Share of rollouts that fail for good (class `skipped`)."""

    masked_rate: float = 0.0
    """Share of rollouts that happen but measure nothing (`mask_sample`)."""

    hang_after: int | None = None
    """Write nothing more after so many rows of this run, and never end."""

    die_after: int | None = None
    """After so many rows of this run write half a line and die by SIGKILL."""

    exit_after: int | None = None
    """After so many rows of this run end with `exit_code`."""

    exit_code: int = 1

    ready_after_s: float = 0.0
    """`env start`: time until the servers are ready."""

    env_exit_after_s: float | None = None
    """`env start`: time from readiness until it ends by itself with exit code 1."""


def resolve(configured: Mapping[str, Any], environ: Mapping[str, str], overrides: Mapping[str, Any]) -> Steering:
    """The settings after precedence. Raises `BadInputError` for an unknown key or an unreadable value."""
    prefix = ENVIRONMENT_PREFIX
    from_environment = {
        key.removeprefix(prefix).lower(): _json_or_text(text) for key, text in environ.items() if key.startswith(prefix)
    }
    known = {item.name for item in fields(Steering)}
    wanted = {**configured, **from_environment, **overrides}
    for key in sorted(wanted.keys() - known):
        raise BadInputError("no such setting", place=f"simulate.{key}", cure=f"known are {', '.join(sorted(known))}")
    return Steering(**{key: _read(key, content) for key, content in wanted.items()})


def _read(key: str, content: Any) -> Any:
    reader = _READERS.get(key, float)
    try:
        return reader(content)
    except (TypeError, ValueError, AttributeError) as error:
        raise BadInputError(f"cannot read {content!r}", place=f"simulate.{key}", cure=f"mend it ({error})") from error


def _json_or_text(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _rate(content: Any) -> float:
    number = float(content)
    if not 0 <= number <= 1:
        raise ValueError("a share lies between 0 and 1")
    return number


def _rates(content: Any) -> Mapping[str, float]:
    return {str(name): _rate(rate) for name, rate in content.items()}


def _skills(content: Any) -> Mapping[str, tuple[float, float]]:
    return {str(label): (float(alpha), float(beta)) for label, (alpha, beta) in content.items()}


_READERS: dict[str, Callable[[Any], Any]] = {
    "seed": int,
    "skills": _skills,
    "response_bytes": int,
    "failures": _rates,
    "terminal_rate": _rate,
    "masked_rate": _rate,
    "hang_after": int,
    "die_after": int,
    "exit_after": int,
    "exit_code": int,
}
