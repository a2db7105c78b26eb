"""What the lab's policy answers: right and wrong in a seeded spread, for the light environments of NeMo Gym.

Promise: the n-th answer to a prompt depends only on the seed, the prompt's text and n, so the answers that a task
collects are the same in any order and at any concurrency. Each prompt has a skill of its own, drawn from a U-shaped
Beta distribution: some prompts are always solved, some never, most now and then. Tools are ignored.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Message = Mapping[str, Any]

_OPTION = re.compile(r"^\s*\(?([A-J])[).:]\s", re.MULTILINE)
_ARITHMETIC = re.compile(r"(-?\d+)\s*([-+*])\s*(-?\d+)")
_EVENT = re.compile(r"\(event id: (\d+)\)")
_MINUTES = re.compile(r"(\d+)[ \u2011-]?min")
_FIRST_MINUTE, _LAST_MINUTE, _STEP = 10 * 60, 16 * 60, 15
_WORDS = (
    "the",
    "answer",
    "follows",
    "from",
    "what",
    "was",
    "asked",
    "so",
    "first",
    "look",
    "at",
    "each",
    "part",
    "then",
    "check",
)


@dataclass(frozen=True)
class Answer:
    """One completion: the text that a verifier reads and the thinking before it."""

    text: str
    reasoning: str


def prompt_text(messages: Sequence[Message]) -> str:
    """All the words of a conversation, one message after the other."""
    return "\n".join(_content(message) for message in messages)


def answer(seed: int, messages: Sequence[Message], nth: int) -> Answer:
    """The `nth` answer (counted from 0) to this conversation."""
    prompt = prompt_text(messages)
    of_prompt = _random(seed, prompt)
    skill = of_prompt.betavariate(0.6, 0.6)
    luck = _random(seed, prompt, nth)
    right = luck.random() < skill
    text = _solve(messages, prompt, of_prompt, luck, right)
    return Answer(text, " ".join(luck.choices(_WORDS, k=luck.randint(5, 60))))


def _solve(messages: Sequence[Message], prompt: str, of_prompt: Random, luck: Random, right: bool) -> str:
    last = _content(messages[-1]) if messages else ""
    options = sorted(set(_OPTION.findall(last)))
    if len(options) > 1:
        return _choose(options, of_prompt, luck)
    if _EVENT.search(prompt):
        return _plan(messages, luck, right)
    schema = _schema(prompt)
    if schema is not None:
        return json.dumps(_instance(schema, luck, right))
    found = _ARITHMETIC.search(last)
    if found:
        return str(_calculate(*found.groups()) + (0 if right else luck.choice((-10, -1, 1, 10))))
    return " ".join(luck.choices(_WORDS, k=12)) + "."


def _choose(options: Sequence[str], of_prompt: Random, luck: Random) -> str:
    """A letter: the policy does not know the right one, but it has a firm or vague opinion per prompt."""
    opinion = [of_prompt.gammavariate(0.5, 1) + 1e-6 for _ in options]
    return rf"\boxed{{{luck.choices(options, opinion)[0]}}}"


def _calculate(left: str, sign: str, right: str) -> int:
    a, b = int(left), int(right)
    return a + b if sign == "+" else a - b if sign == "-" else a * b


def _plan(messages: Sequence[Message], luck: Random, right: bool) -> str:
    """A calendar of all events named: the one last shown, or one after the other; shuffled in time when not `right`."""
    events = _shown_calendar(messages) or _named_events(messages)
    if not right:
        for event in events:
            event["start_time"] = _clock(luck.randrange(_FIRST_MINUTE, _LAST_MINUTE, _STEP))
    return json.dumps(events)


def _shown_calendar(messages: Sequence[Message]) -> list[dict[str, Any]]:
    for message in reversed(messages):
        if message.get("role") == "assistant":
            try:
                shown = json.loads(_content(message))
            except ValueError:
                continue
            if isinstance(shown, list) and all(isinstance(event, dict) for event in shown):
                return shown
    return []


def _named_events(messages: Sequence[Message]) -> list[dict[str, Any]]:
    events, start = [], _FIRST_MINUTE
    text = "\n".join(_content(message) for message in messages if message.get("role") == "user")
    for line in text.splitlines():
        named, lasting = _EVENT.search(line), _MINUTES.search(line)
        if named and lasting:
            minutes = int(lasting.group(1))
            events.append(
                {
                    "event_id": int(named.group(1)),
                    "event_name": "event",
                    "start_time": _clock(start),
                    "duration": minutes,
                }
            )
            start += minutes
    return events


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _schema(prompt: str) -> dict[str, Any] | None:
    """The first JSON schema of an object that stands in the prompt."""
    for found in re.finditer(r'\{\s*"', prompt):
        try:
            value, _ = json.JSONDecoder().raw_decode(prompt, found.start())
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("type") == "object" and "properties" in value:
            return value
    return None


def _instance(schema: Mapping[str, Any], luck: Random, right: bool) -> Any:
    """A value that fits the schema; one required key is missing when not `right`."""
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if "enum" in schema:
        return luck.choice(schema["enum"])
    if kind == "object":
        value = {key: _instance(part, luck, True) for key, part in schema.get("properties", {}).items()}
        if not right and value:
            value.pop(luck.choice(sorted(value)))
        return value
    if kind == "array":
        return [_instance(schema.get("items", {}), luck, True)]
    plain = {
        "integer": luck.randint(0, 99),
        "number": luck.randint(0, 99) / 4,
        "boolean": luck.random() < 0.5,
        "null": None,
    }
    return plain[kind] if kind in plain else luck.choice(_WORDS)


def _content(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _random(*parts: object) -> Random:
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return Random(int.from_bytes(digest[:8], "big"))
