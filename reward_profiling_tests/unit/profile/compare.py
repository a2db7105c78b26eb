"""Whether two profiles are the same: key order and number types exactly, numbers to 1e-9."""

import math
from pathlib import Path
from typing import Any

import orjson

OUTPUTS = ("_reward_profiling.jsonl", "_agent_metrics.json", "_repeat_level_metrics.json")


def difference(ours: Any, theirs: Any, at: str = "$", *, absolute: float = 0.0) -> str | None:
    """The first difference between two parsed JSON values, with its place, or None.

    `absolute` is a difference that two floats may have whatever their size: for rounding, where one side sums exactly.
    """
    if type(ours) is not type(theirs):
        return f"{at}: {ours!r} is {type(ours).__name__}, {theirs!r} is {type(theirs).__name__}"
    if isinstance(ours, dict):
        if list(ours) != list(theirs):
            return f"{at}: keys {list(ours)} against {list(theirs)}"
        pairs = [(f"{at}.{key}", ours[key], theirs[key]) for key in ours]
    elif isinstance(ours, list):
        if len(ours) != len(theirs):
            return f"{at}: {len(ours)} items against {len(theirs)}"
        pairs = [(f"{at}[{place}]", *pair) for place, pair in enumerate(zip(ours, theirs, strict=True))]
    elif isinstance(ours, float):
        same = math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=absolute)
        return None if same else f"{at}: {ours!r} against {theirs!r}"
    else:
        return None if ours == theirs else f"{at}: {ours!r} against {theirs!r}"
    found = (difference(mine, other, where, absolute=absolute) for where, mine, other in pairs)
    return next(filter(None, found), None)


def load(path: Path) -> Any:
    """The parsed content of one output file, a list in either format."""
    content = path.read_bytes()
    return [orjson.loads(line) for line in content.splitlines()] if path.suffix == ".jsonl" else orjson.loads(content)


def assert_same_outputs(ours: Path, theirs: Path) -> None:
    """Compare the three files named after the rollout files `ours` and `theirs`."""
    for suffix in OUTPUTS:
        pair = [load(path.with_name(path.stem + suffix)) for path in (ours, theirs)]
        found = difference(*pair)
        assert found is None, f"{suffix}: {found}"
