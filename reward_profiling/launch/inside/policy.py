"""Whether the policy answers: before anything is started, and while the collector runs.

Promise: a policy that is not there ends the job with a clear reason; one that refuses the key or does not know the
model ends it before a single attempt is spent on it (three failed attempts, and Gym gives a rollout up). A slow answer
is a busy engine's: only many misses in a row count.
"""

import asyncio
from dataclasses import dataclass, field

from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.inside.ending import EndedError, Ending
from reward_profiling.launch.inside.network import Answer, NoAnswerError, ask
from reward_profiling.launch.inside.parts import Part
from reward_profiling.launch.patience import Patience

_TIMEOUT = 30.0
_PAUSE = 2.0
_REFUSALS = {401, 403}
_UNKNOWN_MODEL = {400, 404}


@dataclass(frozen=True)
class Policy:
    """Where the policy is asked for a sign of life; `key` goes along when there is one."""

    url: str
    key: str | None = field(default=None, repr=False)

    async def miss(self) -> str | None:
        """Why this question has no good answer; None when it has one."""
        try:
            answer = await ask(self.url, timeout=_TIMEOUT, key=self.key)
        except NoAnswerError as error:
            return str(error)
        return None if _good(answer) else f"HTTP {answer.status}"


def _good(answer: Answer) -> bool:
    """A server that has no such page is alive all the same."""
    return answer.status < 500 and answer.status not in _REFUSALS


async def check_endpoint(url: str, model: str, key: str | None, patience: Patience) -> Policy:
    """The endpoint, once it has answered and knows the model. Raises `EndedError`."""
    answer = await _first_answer(url, key, patience)
    if answer.status in _REFUSALS:
        raise EndedError(Reason.POLICY_REFUSED, f"{url} refuses the key: HTTP {answer.status}")
    listed = _listed(answer)
    if listed and model not in listed and (status := await _refusal(url, model, key)):
        shown = ", ".join(listed[:5])
        raise EndedError(Reason.POLICY_REFUSED, f"{url} does not serve {model} (HTTP {status}); it lists {shown}")
    return Policy(f"{url}/models", key)


async def _first_answer(url: str, key: str | None, patience: Patience) -> Answer:
    clock = asyncio.get_running_loop()
    deadline = clock.time() + patience.endpoint
    while True:
        try:
            answer = await ask(f"{url}/models", timeout=_TIMEOUT, key=key)
        except NoAnswerError as error:
            why = str(error)
        else:
            if answer.status < 500:
                return answer
            why = f"HTTP {answer.status}"
        if clock.time() >= deadline:
            raise EndedError(Reason.POLICY_UNREACHABLE, f"{url} did not answer within {patience.endpoint:g} s: {why}")
        await asyncio.sleep(min(_PAUSE, patience.endpoint / 10))


def _listed(answer: Answer) -> list[str]:
    """The models that a `/models` answer lists; empty when it is no such list."""
    body = answer.json()
    models = body.get("data") if isinstance(body, dict) else None
    if not isinstance(models, list):
        return []
    return [str(each["id"]) for each in models if isinstance(each, dict) and "id" in each]


async def _refusal(url: str, model: str, key: str | None) -> int | None:
    """The status with which one short question to an unlisted model is refused; gateways do not list every alias."""
    question = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
    try:
        answer = await ask(f"{url}/chat/completions", timeout=_TIMEOUT, key=key, content=question)
    except NoAnswerError:
        return None
    return answer.status if answer.status in _UNKNOWN_MODEL else None


async def engine_ready(engine: Part, url: str, timeout: float) -> Policy:
    """The engine that was started, once `url` answers 200. Raises `EndedError`; watch the engine beside this."""
    try:
        async with asyncio.timeout(timeout):
            while not await _answers_ok(url):
                await asyncio.sleep(_PAUSE / 4)
    except TimeoutError:
        raise EndedError(
            Reason.POLICY_NOT_READY, f"the engine was not ready after {timeout:g} s: {engine.last_words()}"
        ) from None
    return Policy(url)


async def _answers_ok(url: str) -> bool:
    try:
        return (await ask(url, timeout=_TIMEOUT)).status == 200
    except NoAnswerError:
        return False


async def lost(policy: Policy, patience: Patience) -> Ending:
    """A watcher: the policy has missed too many questions in a row."""
    misses, why = 0, None
    while misses < patience.probe_misses:
        await asyncio.sleep(patience.probe_interval)
        why = await policy.miss()
        misses = misses + 1 if why else 0
    return Ending(Reason.POLICY_LOST, f"{policy.url} did not answer {misses} times in a row: {why}")
