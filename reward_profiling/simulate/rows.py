"""The lines that the stand-in writes: shaped as NeMo Gym 0.7.0 writes them, and marked.

Promise: a rollout row has the top-level keys of a real one (Gym contract 3.5), a sidecar row those of 3.4, and both
carry `"_simulated": true`. One call, one line of bytes with its newline.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from reward_profiling.simulate.outcomes import Outcome

COLLECTOR_CLASSES: Mapping[str, int] = {"agent_run_error": 500, "agent_request_failed": 503}
"""The failure classes that the collector itself makes of a failed HTTP call, and the status of that call."""

_CARRIED = ("task_source", "skills_ref", "_ng_rollout_id")
_SENTENCE = "so the answer follows from what was asked and from each part of it in turn "


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the work list that is to be run: attempt 0 is the first."""

    row: Mapping[str, Any]
    task: int
    rollout: int
    attempt: int
    environment_server: str


def rollout_line(work: Work, outcome: Outcome, prompt: bytes, response_bytes: int) -> bytes:
    """A success: what the environment answered, then what the collector adds."""
    answered = _answered(work, outcome, prompt, response_bytes)
    return _line(answered | _stamps(work))


def failure_line(work: Work, outcome: Outcome, prompt: bytes, response_bytes: int) -> bytes:
    """A failed attempt: made by the collector, or by a server that says so in its answer."""
    failed: dict[str, Any]
    status = COLLECTOR_CLASSES.get(outcome.failure)
    if status is None:
        failed = _answered(work, outcome, prompt, response_bytes)
        failed |= {"reward": 0.0, "elapsed_seconds": 0.0, "_ng_failure_class": outcome.failure}
        failed |= {"_ng_failure_terminal": True} if outcome.terminal else {}
    else:
        failed = {
            "_ng_failure_class": outcome.failure,
            "_ng_failure_type": "ClientResponseError",
            "_ng_failure_message": f"{status}, message='simulated'",
            "_ng_failure_http_status": status,
            "_ng_failure_response_body": "simulated",
        }
    return _line(failed | _stamps(work))


def _answered(work: Work, outcome: Outcome, prompt: bytes, response_bytes: int) -> dict[str, Any]:
    input_tokens = max(1, len(prompt) // 4)
    text = (_SENTENCE * (response_bytes // len(_SENTENCE) + 1))[:response_bytes] if response_bytes else "simulated"
    name = f"{work.task}-{work.rollout}-{work.attempt}"
    message = {
        "id": f"msg_{name}",
        "content": [{"annotations": [], "text": text, "type": "output_text", "logprobs": None}],
        "role": "assistant",
        "status": "completed",
        "type": "message",
    }
    response = {
        "id": f"resp_{name}",
        "created_at": time.time(),
        "error": None,
        "incomplete_details": None,
        "model": "simulated",
        "object": "response",
        "output": [message],
        "status": "completed",
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": None},
            "output_tokens": outcome.output_tokens,
            "output_tokens_details": {"reasoning_tokens": None},
            "total_tokens": input_tokens + outcome.output_tokens,
        },
    }
    return {
        "responses_create_params": orjson.Fragment(prompt),
        "response": response,
        "reward": outcome.reward,
        "mask_sample": outcome.masked,
        "failure_kind": "simulated" if outcome.masked else None,
        "failure_reason": "masked on demand" if outcome.masked else None,
    }


def _stamps(work: Work) -> dict[str, Any]:
    stamps = {
        "_ng_task_index": work.task,
        "_ng_rollout_index": work.rollout,
        "agent_ref": work.row["agent_ref"],
    }
    stamps |= {key: work.row[key] for key in _CARRIED if key in work.row}
    if work.attempt:
        stamps["_ng_attempt_index"] = work.attempt
    return stamps | {
        "_ng_environment_server": work.environment_server,
        "_ng_result_type": "legacy_agent",
        "_simulated": True,
    }


def _line(row: dict[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
