"""Keys that are one slip of the keyboard away from a known one."""

from collections.abc import Iterable


def one_edit(left: str, right: str) -> bool:
    """True when one insertion, deletion, replacement or swap of neighbours turns `left` into `right`."""
    if left == right or abs(len(left) - len(right)) > 1:
        return False
    if len(left) > len(right):
        left, right = right, left
    start = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), len(left))
    if len(left) < len(right):
        return left[start:] == right[start + 1 :]
    swapped = left[start : start + 2] == right[start : start + 2][::-1] and left[start + 2 :] == right[start + 2 :]
    return left[start + 1 :] == right[start + 1 :] or swapped


def nearest(key: str, known: Iterable[str]) -> str | None:
    """The known key that `key` is one edit away from, or None; case and dashes do not count, a known key has none."""
    plain = key.lower().replace("-", "_")
    candidates = sorted(known)
    if key in candidates:
        return None
    return next((name for name in candidates if plain == name), None) or next(
        (name for name in candidates if one_edit(plain, name)), None
    )
