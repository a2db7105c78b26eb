"""One source row: what it must hold, and how its bytes become work-list lines.

Promise: the bytes of a source row survive exactly (big integers, key order, float text); the three keys are spliced
in at the end, where NeMo Gym itself puts them (Gym contract 4). Only a row that already carries one of these keys, or
whose agent is replaced, is decoded and encoded again.
"""

import json
from dataclasses import dataclass
from typing import Any

import orjson

LABEL_KEY = "_ng_sweep_label"
TASK_KEY = "_ng_task_index"
ROLLOUT_KEY = "_ng_rollout_index"
RESERVED = (LABEL_KEY, TASK_KEY, ROLLOUT_KEY)


@dataclass(frozen=True)
class RowRule:
    """What a row of one entry must name as its agent, and what replaces it (None: nothing)."""

    agent: str
    override: str | None = None


@dataclass(frozen=True)
class RowProblem:
    """Why a row is refused, and what to do about it."""

    problem: str
    cure: str


def check_row(line: bytes, rule: RowRule) -> bool | RowProblem:
    """Whether the bytes of a row can be used as they are; a `RowProblem` when the row cannot be used at all."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return RowProblem(f"not JSON: {error}", "mend or remove this line")
    if not isinstance(row, dict):
        return RowProblem("the row is not a JSON object", "mend or remove this line")
    if not isinstance(row.get("responses_create_params"), dict):
        return RowProblem(
            "the row has no responses_create_params object", "NeMo Gym cannot dispatch it; add it or remove this line"
        )
    named_already = _agent_name(row) == (rule.override or rule.agent)
    if rule.override is None and not named_already:
        return _agent_problem(row, rule.agent)
    return named_already and not any(key in row for key in RESERVED)


def _agent_name(row: dict[str, Any]) -> object:
    agent = row.get("agent_ref")
    return agent.get("name") if isinstance(agent, dict) else None


def _agent_problem(row: dict[str, Any], agent: str) -> RowProblem:
    found = _agent_name(row)
    if found is None:
        problem = "the row has no agent_ref.name"
    else:
        problem = f"the row belongs to agent {found!r}, the entry to {agent!r}"
    return RowProblem(problem, f"set agent_ref_override: {agent} on the entry, or mend the data")


def encode_again(line: bytes, rule: RowRule) -> bytes:
    """The row without our keys and with the agent it is collected for, as JSON text."""
    # The standard library keeps integers of any size; orjson would turn those beyond 64 bits into floats.
    row: dict[str, Any] = json.loads(line)
    for key in RESERVED:
        row.pop(key, None)
    if _agent_name(row) != (rule.override or rule.agent):
        row["agent_ref"] = {"type": "responses_api_agents", "name": rule.override or rule.agent}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def work_line_head(line: bytes, label: str, task_index: int) -> bytes:
    """A row as a work-list line of its task, up to where the repeat's number goes (see `work_line_end`)."""
    return line[:-1] + b',"%b":%b,"%b":%d,"%b":' % (
        LABEL_KEY.encode(),
        orjson.dumps(label),
        TASK_KEY.encode(),
        task_index,
        ROLLOUT_KEY.encode(),
    )


def work_line_end(repeat: int) -> bytes:
    """What follows `work_line_head` in the line of one repeat."""
    return b"%d}\n" % repeat
