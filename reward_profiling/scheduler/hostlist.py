"""Slurm's short form for lists of node names, `n[1-3,07],login`, in full."""

import re

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_LARGEST = 100_000  # names that one list may stand for; more is no list of nodes


def expand(text: str) -> tuple[str, ...]:
    """The names that `text` stands for, in order, zero padding kept; ValueError when it is no such list."""
    names: list[str] = []
    for part in _split(text):
        names.extend(_product(part))
        if len(names) > _LARGEST:
            raise ValueError(f"more than {_LARGEST} nodes: {text[:80]}")
    return tuple(names)


def _split(text: str) -> list[str]:
    """The parts between commas that stand outside of brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth not in (0, 1):
            raise ValueError(f"unbalanced brackets: {text[:80]}")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    if depth:
        raise ValueError(f"unbalanced brackets: {text[:80]}")
    return [part for part in [*parts, text[start:]] if part]


def _product(part: str) -> list[str]:
    head, bracket, rest = part.partition("[")
    if not bracket:
        return [part]
    inside, _, tail = rest.partition("]")
    tails = _product(tail) if tail else [""]
    return [head + number + end for number in _numbers(inside) for end in tails]


def _numbers(inside: str) -> list[str]:
    numbers: list[str] = []
    for item in inside.split(","):
        found = _RANGE.fullmatch(item)
        if not found:
            raise ValueError(f"no range of numbers: {item[:80]}")
        first, last = found.group(1), found.group(2) or found.group(1)
        if int(last) - int(first) > _LARGEST:
            raise ValueError(f"more than {_LARGEST} nodes: {item}")
        numbers.extend(str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
    return numbers
