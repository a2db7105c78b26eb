"""The lab's policy: an OpenAI-compatible server, seeded, and failing as it is told."""

import json
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any

import pytest

from lab import policy_skill
from lab.policy_server import PolicyServer
from reward_profiling_tests.collector import demo_rows
from reward_profiling_tests.parts import REPOSITORY

CHOICE = "Which one?\nA: left\nB: right\nC: up\nD: down"


@pytest.fixture
def policy() -> Iterator[PolicyServer]:
    with PolicyServer(seed=3) as server:
        yield server


def post(url: str, body: dict[str, Any], timeout: float = 10) -> bytes:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return bytes(answer.read())


def chat(policy: PolicyServer, text: str = CHOICE, timeout: float = 10, **more: Any) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    return json.loads(post(f"{policy.url}/chat/completions", body, timeout))


def answered(policy: PolicyServer, text: str = CHOICE) -> str:
    return str(chat(policy, text)["choices"][0]["message"]["content"])


def test_it_answers_as_a_served_model_does(policy: PolicyServer) -> None:
    completion = chat(policy)
    assert completion["choices"][0]["finish_reason"] == "stop"
    usage = completion["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"] > 10
    with urllib.request.urlopen(f"{policy.url}/models") as models:
        assert json.load(models)["data"][0]["id"] == policy.model
    with urllib.request.urlopen(policy.url.replace("/v1", "/health")) as health:
        assert health.status == 200


def test_a_stream_says_the_same_and_ends_with_the_usage_when_asked(policy: PolicyServer) -> None:
    with PolicyServer(seed=3) as twin:
        whole = chat(twin)
    body = {
        "messages": [{"role": "user", "content": CHOICE}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    lines = post(f"{policy.url}/chat/completions", body).decode().strip().split("\n\n")
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"])
    assert text == whole["choices"][0]["message"]["content"]
    assert chunks[-1]["usage"] == whole["usage"]


def test_an_answer_longer_than_allowed_is_cut(policy: PolicyServer) -> None:
    completion = chat(policy, max_tokens=2)
    assert completion["choices"][0]["finish_reason"] == "length"
    assert completion["usage"]["completion_tokens"] == 2


def test_the_answers_to_a_prompt_are_the_same_in_every_run_whatever_else_is_asked() -> None:
    with PolicyServer(seed=3) as first, PolicyServer(seed=3) as second, PolicyServer(seed=4) as other:
        plain = [answered(first) for _ in range(12)]
        mixed = []
        for number in range(12):
            answered(second, f"Compute {number} + 1.")
            mixed.append(answered(second))
        assert plain == mixed
        assert plain != [answered(other) for _ in range(12)]


def test_choices_differ_between_repeats_and_keep_to_the_options(policy: PolicyServer) -> None:
    letters = Counter(answered(policy, f"{number}. {CHOICE}") for number in range(10) for _ in range(8))
    assert all(re.fullmatch(r"\\boxed\{[ABCD]\}", letter) for letter in letters)
    assert len(letters) == 4


def test_arithmetic_is_right_for_some_prompts_always_for_some_never_and_for_most_now_and_then(
    policy: PolicyServer,
) -> None:
    shares = [sum(answered(policy, f"Compute {a} * 7.") == str(a * 7) for _ in range(8)) / 8 for a in range(40)]
    assert {0.0, 1.0} <= set(shares)
    assert sum(0 < share < 1 for share in shares) > 10


def test_calendars_and_schemas_are_answered_in_json() -> None:
    (row,) = demo_rows("scheduling", 1)
    conversation = row["responses_create_params"]["input"]
    shown = json.loads(conversation[-2]["content"])
    answers = [json.loads(policy_skill.answer(1, conversation, nth).text) for nth in range(20)]
    assert shown in answers
    assert any(answer != shown for answer in answers)
    named = "Add Lunch (event id: 4), 45 minutes, after 12:00."
    (event,) = json.loads(policy_skill.answer(1, [{"role": "user", "content": named}], 0).text)
    assert (event["event_id"], event["duration"]) == (4, 45)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "tags": {"type": "array", "items": {}}}}
    filled = [
        json.loads(policy_skill.answer(1, [{"role": "user", "content": f"Fill {json.dumps(schema)} {n}"}], 0).text)
        for n in range(20)
    ]
    complete = [value for value in filled if value.keys() == {"n", "tags"}]
    assert 0 < len(complete) < 20
    assert all(isinstance(value["n"], int) and isinstance(value["tags"], list) for value in complete)


@pytest.mark.parametrize("status", [500, 503, 400])
def test_it_refuses_as_told_as_often_as_told(policy: PolicyServer, status: int) -> None:
    post(policy.url.replace("/v1", "/lab/mode"), {"mode": "fail", "status": status, "times": 2, "match": "right"})
    assert chat(policy, "unconcerned")["choices"]
    for _ in range(2):
        with pytest.raises(urllib.error.HTTPError) as caught:
            chat(policy)
        assert caught.value.code == status
        caught.value.close()
    assert chat(policy)["choices"]
    assert policy.state()["requests"] == 4


def test_it_closes_and_babbles_as_told(policy: PolicyServer) -> None:
    policy.set_mode("close")
    with pytest.raises((RemoteDisconnected, ConnectionError)):
        chat(policy)
    policy.set_mode("garbage")
    with pytest.raises(json.JSONDecodeError):
        chat(policy)
    policy.set_mode("ok")
    assert chat(policy)["choices"]


def test_a_hang_lasts_until_the_mode_changes_and_slowness_as_long_as_told(policy: PolicyServer) -> None:
    policy.set_mode("hang")
    with pytest.raises(TimeoutError):
        chat(policy, timeout=0.2)
    ended = threading.Event()

    def ask() -> None:
        with pytest.raises((RemoteDisconnected, ConnectionError)):
            chat(policy)
        ended.set()

    waiting = threading.Thread(target=ask)
    waiting.start()
    while policy.state()["requests"] < 2:
        time.sleep(0.01)
    assert not ended.wait(0.1)
    policy.set_mode("slow", seconds=0.3)
    assert ended.wait(5)
    waiting.join()
    begun = time.monotonic()
    assert chat(policy)["choices"]
    assert time.monotonic() - begun >= 0.3


def test_a_mode_that_does_not_exist_is_refused(policy: PolicyServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(policy.url.replace("/v1", "/lab/mode"), {"mode": "fial"})
    assert caught.value.code == 400
    caught.value.close()


def test_as_a_program_it_says_where_it_listens_and_dies_as_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lab.policy_server", "--port-file", str(tmp_path / "port")]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        assert line["pid"] == process.pid
        assert f":{(tmp_path / 'port').read_text()}/v1" in line["url"]
        post(line["url"].replace("/v1", "/lab/mode"), {"mode": "die"})
        with pytest.raises((RemoteDisconnected, ConnectionError)):
            post(f"{line['url']}/chat/completions", {"messages": []})
        assert process.wait(timeout=10) == 1


def test_a_signal_ends_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lab.policy_server"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait(timeout=10) == 0
