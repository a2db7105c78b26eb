"""Datasets and rollouts of a given size, in the shape and with the texture of real ones."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from reward_profiling.sweep.completeness import Plan, load_plan
from reward_profiling.sweep.deal import Layout, keys_of
from reward_profiling.sweep.layout import SweepDir
from reward_profiling.sweep.materialize import SweepRequest
from reward_profiling.sweep.tasks import EntryPlan

NICKNAME = "bench"
_WORDS = re.findall(
    r"\w+",
    "the value of a list where each element is mapped by some function and then summed so that the result follows from "
    "what was given; return none if the input is empty because then nothing can be said about it in general",
)


@dataclass(frozen=True)
class Size:
    """How large a sweep is. `row_bytes` is about the size of a row of a dataset."""

    entries: int
    tasks: int
    """Of each entry."""
    repeats: int
    shards: int
    row_bytes: int


def paragraphs(rng: random.Random, count: int) -> list[str]:
    """Texts of about 500 characters: lines, quotes, backslashes and letters beyond ASCII as chats have them."""
    return [_paragraph(rng) for _ in range(count)]


def _paragraph(rng: random.Random) -> str:
    lines = []
    for _ in range(8):
        words = [rng.choice(_WORDS) for _ in range(12)]
        words[rng.randrange(12)] = rng.choice(['"quoted"', "\\frac{a}{b}", "x = y[0]", "—", "naïve"])
        lines.append(" ".join(words))
    return "\n".join(lines)


def write_datasets(folder: Path, size: Size) -> None:
    """One dataset per entry under `folder`."""
    rng = random.Random(1)
    texts = paragraphs(rng, 400)
    for number in range(size.entries):
        with dataset(folder, number).open("wb") as stream:
            for row in range(size.tasks):
                content = f"{number}/{row} " + " ".join(rng.choices(texts, k=size.row_bytes // 560))
                stream.write(orjson.dumps(_row(number, content), option=orjson.OPT_APPEND_NEWLINE))


def _row(number: int, content: str) -> dict[str, object]:
    return {
        "responses_create_params": {"input": [{"role": "user", "content": content}]},
        "agent_ref": {"type": "responses_api_agents", "name": f"agent_{number}"},
        "expected_answer": "B",
    }


def dataset(folder: Path, number: int) -> Path:
    """The dataset of entry `number`."""
    return folder / f"dataset_{number:02d}.jsonl"


def request(folder: Path, size: Size) -> SweepRequest:
    """The sweep of these datasets."""
    entries = [
        EntryPlan(f"entry_{number:02d}", f"agent_{number}", dataset(folder, number), size.repeats)
        for number in range(size.entries)
    ]
    return SweepRequest(
        nickname=NICKNAME,
        manifest="bench.yaml",
        manifest_digest="sha256:0",
        snapshot="",
        sweep_config="",
        layout=Layout(num_shards=size.shards),
        sample="head",
        seed=0,
        limit_per_entry=None,
        entries=tuple(entries),
        settings=(),
        digest_parts={},
        meaning={},
    )


def sweep(folder: Path) -> SweepDir:
    """The sweep that `request` materializes under `folder`."""
    return SweepDir(folder / "sweeps" / NICKNAME)


def plan(folder: Path) -> Plan:
    """The materialized sweep as looks need it."""
    return load_plan(sweep(folder), {})


def write_rollouts(folder: Path, row_bytes: int) -> int:
    """A rollout of about `row_bytes` for every key, in no order, as a collector would write them; bytes in all."""
    rng = random.Random(2)
    texts = paragraphs(rng, 400)
    found = plan(folder)
    written = 0
    for number in range(found.report.num_shards):
        keys = list(keys_of(found.shard_tasks(number)).select("task_index", "rollout_index").iter_rows())
        rng.shuffle(keys)
        with found.sweep.shard(number).rollouts.open("wb") as stream:
            for key in keys:
                written += stream.write(_rollout(rng, texts, key, row_bytes))
        found.sweep.shard(number).failures.touch()
    return written


def _rollout(rng: random.Random, texts: Sequence[str], key: tuple[int, int], row_bytes: int) -> bytes:
    prompt, answer = (" ".join(rng.choices(texts, k=max(1, row_bytes // 1120))) for _ in range(2))
    output = rng.randint(10, 9000)
    row = {
        "responses_create_params": {"input": [{"role": "user", "content": prompt}]},
        "response": {
            "id": f"resp_{key}",
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": answer[: len(answer) // 2]}]},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": answer[len(answer) // 2 :], "annotations": []}],
                },
            ],
            "usage": {
                "input_tokens": 400,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": output,
                "output_tokens_details": {"reasoning_tokens": output // 2},
                "total_tokens": 400 + output,
            },
        },
        "reward": float(rng.random() < 0.5),
        "mask_sample": False,
        "extracted_answer": "B",
        "turns": 3,
        "_ng_task_index": key[0],
        "_ng_rollout_index": key[1],
        "agent_ref": {"type": "responses_api_agents", "name": "agent_a"},
    }
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
