"""Work lists and rollout files of any size, in the shape that NeMo Gym writes: rollout rows of 4 KB, four numbers."""

import random
from pathlib import Path

import orjson

_PROMPT = "word " * 370


def write_rows(directory: Path, groups: int, repeats: int, *, seed: int = 1) -> tuple[Path, Path]:
    """Write `groups` tasks of `repeats` rollouts; returns the paths of the work list and the rollouts."""
    rng = random.Random(seed)
    inputs, rollouts = directory / "rollouts_materialized_inputs.jsonl", directory / "rollouts.jsonl"
    reference = {"type": "responses_api_agents", "name": "agent_a"}
    with inputs.open("wb") as work, rollouts.open("wb") as results:
        for task in range(groups):
            skill = rng.random()
            params = {"input": [{"role": "user", "content": f"{task} {_PROMPT}"}]}
            for repeat in range(repeats):
                key = {"_ng_task_index": task, "_ng_rollout_index": repeat}
                row = {"responses_create_params": params, "expected_answer": "B", "agent_ref": reference}
                work.write(orjson.dumps(row | key, option=orjson.OPT_APPEND_NEWLINE))
                results.write(orjson.dumps(_result(rng, params, skill) | key, option=orjson.OPT_APPEND_NEWLINE))
    return inputs, rollouts


def _result(rng: random.Random, params: object, skill: float) -> dict[str, object]:
    output = rng.randint(10, 9000)
    usage = {"input_tokens": 400, "output_tokens": output, "total_tokens": 400 + output}
    text = [{"type": "output_text", "text": _PROMPT}]
    return {
        "responses_create_params": params,
        "response": {"output": [{"type": "message", "role": "assistant", "content": text}], "usage": usage},
        "reward": float(rng.random() < skill),
        "extracted_answer": "B",
        "mask_sample": False,
    }
