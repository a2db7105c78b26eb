"""How long a job waits for what it cannot hurry."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """All but `probe_misses` in seconds."""

    ready: float = 3600.0
    """For the engine, and again for Gym's servers, to become ready."""
    endpoint: float = 120.0
    """For the first answer of an endpoint."""
    stall: float = 3600.0
    """For a new row."""
    probe_interval: float = 30.0
    """Between two questions to the policy while the collector runs."""
    probe_misses: int = 10
    """How many of these questions in a row may stay without an answer: a slow one is a busy engine's."""
