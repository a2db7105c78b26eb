"""What becomes of a rollout: drawn from the seed, the task's content and the rollout index, and from nothing else.

Promise: reward, tokens and mask of (label, content, rollout index) do not depend on order, attempt, shard or process;
whether an attempt fails depends on these and the attempt's number. Labels differ: some are saturated, some hopeless,
most mixed.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from statistics import NormalDist

from reward_profiling.simulate.steering import Steering

_SKILLS = ((30.0, 0.6), (0.15, 6.0), (0.8, 0.8), (2.5, 1.0), (1.0, 2.5))
_UNIFORMS = struct.Struct("<4Q")
_UNIT = 2.0**-64
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Traits:
    """What the repeats of one task have in common: a pass probability, and the length of an answer in tokens."""

    content: bytes
    skill: float
    tokens: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """One attempt. `failure` is the class of a failed one, "" for a success."""

    reward: float
    output_tokens: int
    masked: bool
    failure: str
    terminal: bool


class Outcomes:
    """The fate of every rollout under one `Steering`."""

    def __init__(self, steering: Steering) -> None:
        self._seed = steering.seed.to_bytes(16, "little", signed=True)
        self._steering = steering
        self._labels: dict[str, tuple[float, float]] = {}
        self._last = Traits(b"", 0.0, 0.0)

    def traits(self, label: str, prompt: bytes) -> Traits:
        """The task that `prompt` (its `responses_create_params` as JSON) is, under `label`."""
        content = blake2b(label.encode() + b"\0" + prompt, digest_size=16, key=self._seed).digest()
        if content != self._last.content:
            random = Random(content)
            alpha, beta = self._skill(label)
            skill = random.betavariate(alpha, beta)
            self._last = Traits(content, skill, 40 + 400 * random.random() * (1.5 - skill))
        return self._last

    def outcome(self, task: Traits, rollout: int, attempt: int) -> Outcome:
        """The end of attempt number `attempt` (0 is the first) at rollout `rollout` of `task`."""
        luck, length, mask, terminal = self._uniforms(task.content, rollout)
        reward = 1.0 if luck < task.skill else 0.0
        tokens = 1 + int(task.tokens * (0.25 + 1.5 * length))
        masked = mask < self._steering.masked_rate
        if terminal < self._steering.terminal_rate:
            return Outcome(0.0, tokens, False, "skipped", True)
        return Outcome(reward, tokens, masked, self._failure(task, rollout, attempt), False)

    def latency(self, task: Traits, rollout: int, attempt: int) -> float:
        """How long the attempt takes, in seconds."""
        steering = self._steering
        if not steering.latency_sigma:
            return steering.latency_s
        (uniform, *_) = self._uniforms(task.content, rollout, attempt, b"latency")
        spread = _NORMAL.inv_cdf(min(max(uniform, 1e-12), 1 - 1e-12))
        return float(steering.latency_s * math.exp(steering.latency_sigma * spread))

    def _failure(self, task: Traits, rollout: int, attempt: int) -> str:
        classes: Mapping[str, float] = self._steering.failures
        if not classes:
            return ""
        (uniform, *_) = self._uniforms(task.content, rollout, attempt, b"failure")
        for name, share in classes.items():
            if uniform < share:
                return name
            uniform -= share
        return ""

    def _skill(self, label: str) -> tuple[float, float]:
        if label not in self._labels:
            drawn = Random(self._seed + label.encode()).choice(_SKILLS)
            self._labels[label] = self._steering.skills.get(label, drawn)
        return self._labels[label]

    def _uniforms(
        self, content: bytes, rollout: int, attempt: int = 0, purpose: bytes = b""
    ) -> tuple[float, float, float, float]:
        """Four independent numbers between 0 and 1."""
        salt = b"%d/%d" % (rollout, attempt)
        digest = blake2b(content + salt, digest_size=32, key=self._seed, person=purpose).digest()
        first, second, third, fourth = _UNIFORMS.unpack(digest)
        return first * _UNIT, second * _UNIT, third * _UNIT, fourth * _UNIT
