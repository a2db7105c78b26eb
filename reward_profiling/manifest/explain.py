"""What pydantic refuses, said in the words of the manifest: one problem per place.

Promise: the text names the path, what was expected and what is there, in short. A value that could be a secret is
refused by `free_rules` before, whose problem at the same place is the one that is kept.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from reward_profiling.manifest.near import nearest
from reward_profiling.manifest.problems import Path, Problem, dotted

Place = Callable[[Path], str]

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def show(value: Any) -> str:
    """A value as a message names it, short."""
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'the text "{value if len(value) <= 40 else value[:37] + "..."}"'
    return f"the number {value}"


def at(value: Any, path: Path) -> Any:
    """What stands at `path` in nested dictionaries and lists; None when nothing does."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def explain(error: ValidationError, value: Any, model: type[BaseModel], place: Place) -> list[Problem]:
    """One problem for each place that `error` refuses in `value`, the input of `model`."""
    by_path: dict[Path, list[tuple[str, dict[str, Any]]]] = {}
    for detail in error.errors(include_url=False):
        path = _real_path(detail["loc"], value)
        if detail["type"] == "missing":
            path = (*path, detail["loc"][-1]) if not path or path[-1] != detail["loc"][-1] else path
        by_path.setdefault(path, []).append((detail["type"], detail.get("ctx", {})))
    problems = []
    meant = {(*path[:-1], near) for path, details in by_path.items() if (near := _meant(path, details, model))}
    for path, details in by_path.items():
        if details[0][0] == "missing" and path in meant:
            continue  # it is there, misspelt
        problem = _problem(path, details, value, model)
        if problem is not None:
            problems.append(Problem(place(path), path, *problem))
    return problems


def _meant(path: Path, details: list[tuple[str, dict[str, Any]]], model: type[BaseModel]) -> str | None:
    """The key that an unknown one was probably meant to be."""
    unknown = details[0][0] == "extra_forbidden"
    return nearest(str(path[-1]), keys_at(model, path[:-1])) if unknown else None


def _real_path(location: Sequence[str | int], value: Any) -> Path:
    """`location` without the names that pydantic adds for the members of a union."""
    path: list[str | int] = []
    for part in location:
        known = (isinstance(value, dict) and part in value) or (isinstance(value, list) and isinstance(part, int))
        if known:
            path.append(part)
            value = value[part]
    return tuple(path)


def _problem(
    path: Path, details: list[tuple[str, dict[str, Any]]], root: Any, model: type[BaseModel]
) -> tuple[str, str] | None:
    name, found = dotted(path), at(root, path)
    expected = _expected(details)
    for kind, context in details:
        said = _constraint(kind, context, found)
        if said is not None:
            return f"`{name}` {said[0]}", said[1]
    if expected:
        return f"`{name}` should be {', '.join(expected)}, not {show(found)}", _type_cure(expected, found)
    kind, _ = details[0]
    if kind == "missing":
        parent = dotted(path[:-1]) or "the manifest"
        return f"{parent} lacks `{path[-1]}`", f"add `{path[-1]}`"
    if kind == "extra_forbidden":
        return unknown_key(path, keys_at(model, path[:-1]))
    if kind == "too_short" and found:
        return None  # its members were refused one by one
    return f"`{name}` is not as it should be ({kind})", ""


def _constraint(kind: str, context: dict[str, Any], found: Any) -> tuple[str, str] | None:
    shown = show(found)
    if kind == "greater_than_equal":
        return f"should be at least {context['ge']}, not {shown}", ""
    if kind == "greater_than":
        return f"should be above {context['gt']}, not {shown}", ""
    if kind in {"less_than_equal", "less_than"}:
        bound = f"at most {context['le']}" if "le" in context else f"below {context['lt']}"
        return f"should be {bound}, not {shown}", ""
    if kind == "literal_error":
        return f"should be one of {context['expected'].replace(' or ', ', ')}, not {shown}", ""
    if kind == "finite_number":
        return "should be finite", "give a number"
    if kind in {"string_too_short", "too_short"} and not found:
        return "is empty", "give at least one" if isinstance(found, list) else "give a value or remove the key"
    if kind == "string_too_long":
        return f"is longer than {context['max_length']} characters", "shorten it"
    if kind == "string_pattern_mismatch":
        return (
            f"holds {shown}, which is no safe file name",
            "use letters, digits and `._-`, beginning with a letter or digit",
        )
    return None


def _expected(details: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """The types that a place takes, in words; a number includes the whole ones."""
    words = list(dict.fromkeys(_EXPECTED[kind] for kind, _ in details if kind in _EXPECTED))
    if "a number" in words and "a whole number" in words:
        words.remove("a whole number")
    return words


def _type_cure(expected: Sequence[str], found: Any) -> str:
    if isinstance(found, str):
        if expected[-1] == "a list":
            return f"write [{found}]"
        return "write it without quotes" if _reads_as_number(found) else ""
    return "quote it" if expected[0] == "text" and isinstance(found, int | float) else ""


def _reads_as_number(text: str) -> bool:
    return text.lower() in {"true", "false"} or text.replace(".", "", 1).lstrip("+-").isdigit()


def unknown_key(path: Path, known: Sequence[str]) -> tuple[str, str]:
    """Problem and cure for a key that a block does not know."""
    key, block = str(path[-1]), dotted(path[:-1])
    where = f"`{block}` has no key `{key}`" if block else f"a manifest has no key `{key}`"
    near = nearest(key, known)
    return where, f"did you mean `{near}`?" if near else f"known keys: {', '.join(known)}"


def keys_at(model: type[BaseModel], path: Path) -> list[str]:
    """The keys that the block at `path` knows."""
    for part in path:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        found = next((each for each in _models(annotation)), None)
        if found is None:
            return []
        model = found
    return list(model.model_fields)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models(part)]
