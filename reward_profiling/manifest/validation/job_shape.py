"""Whether what a job is asked to be makes sense: walltime, nodes, repeats, settings that nobody reads.

Promise: looks at the manifest alone.
"""

import re
from collections.abc import Iterator

from reward_profiling.manifest.validation.findings import Finding, Subject

_TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<clock>\d+(?::\d+){0,2})\Z")
_UNLIMITED = {"infinite", "unlimited", "-1"}


def check(subject: Subject, max_nodes_per_job: int | None) -> Iterator[Finding]:
    """All findings about the shape of a job; `max_nodes_per_job` is what the cluster allows, None when not known."""
    yield from _walltime(subject)
    yield from _nodes(subject, max_nodes_per_job)
    yield from _repeats(subject)
    yield from _unread(subject)
    yield from _same_data(subject)


def walltime_seconds(limit: object) -> float | None:
    """Seconds of a Slurm time limit (`90`, `4:00`, `04:00:00`, `1-12`, `1-12:00`), infinite for no limit.

    None when `limit` is not one. A number alone counts minutes; after days, hours come first.
    """
    text = str(limit).strip()
    if text.lower() in _UNLIMITED:
        return float("inf")
    found = _TIME.match(text)
    if found is None:
        return None
    fields = [int(each) for each in found["clock"].split(":")]
    if found["days"] is not None:
        hours, minutes, seconds = (*fields, 0, 0)[:3]
        return int(found["days"]) * 86400 + hours * 3600 + minutes * 60 + seconds
    if len(fields) == 3:
        return fields[0] * 3600 + fields[1] * 60 + fields[2]
    return fields[0] * 60 + (fields[1] if len(fields) == 2 else 0)


def _walltime(subject: Subject) -> Iterator[Finding]:
    limit, timeout = subject.manifest.sbatch.free.get("timelimit"), subject.manifest.vllm_router.request_timeout_s
    if limit is None:
        if subject.manifest.mode == "serve" and timeout is not None:
            problem = "no walltime is given, so `vllm_router.request_timeout_s` cannot be held against it"
            yield subject.warning(("sbatch",), problem, "set `sbatch.timelimit`")
        return
    seconds = walltime_seconds(limit)
    if seconds is None or isinstance(limit, bool | float):
        yield subject.error(("sbatch", "timelimit"), f"`{limit}` is no time limit", 'write "hours:minutes:seconds"')
    elif timeout is not None and timeout >= seconds:
        problem = f"a request may take {timeout:g} s, and the job ends after {seconds:g} s"
        yield subject.error(("vllm_router", "request_timeout_s"), problem, "set it well below the walltime")


def _nodes(subject: Subject, most: int | None) -> Iterator[Finding]:
    nodes = subject.manifest.nodes_per_job
    if most is not None and nodes > most:
        problem = f"a job asks for {nodes} nodes, and at most {most} are allowed"
        yield subject.error(("vllm",), problem, "use fewer nodes per job and more shards")


def _repeats(subject: Subject) -> Iterator[Finding]:
    manifest = subject.manifest
    first: dict[str, int] = {}
    for number, entry in enumerate(manifest.entries):
        other = first.setdefault(entry.effective_agent, number)
        wanted, before = manifest.repeats(entry), manifest.repeats(manifest.entries[other])
        if wanted != before:
            problem = f"`{entry.label}` wants {wanted} repeats and `{manifest.entries[other].label}` {before}"
            cure = "give entries of one agent the same, or mind it when their numbers are compared by agent"
            key = "num_repeats" if entry.num_repeats else "label"
            yield subject.warning(("entries", number, key), f"{problem}, with one agent", cure)
    single = [entry.label for entry in manifest.entries if manifest.repeats(entry) == 1]
    if single:
        problem = f"{_some(single)} run once per task, which shows no spread"
        yield subject.warning(("gym_eval_run",), problem, "set `gym_eval_run.num_repeats`")


def _unread(subject: Subject) -> Iterator[Finding]:
    manifest = subject.manifest
    if manifest.mode == "endpoint":
        for block in ("vllm", "vllm_router"):
            given = getattr(manifest, block).model_fields_set - {"max_num_seqs"}
            if given:
                problem = f"`{block}` is not read, because the policy is served at `gym_env_start.policy_base_url`"
                yield subject.warning((block, sorted(given)[0]), problem, "remove one of the two")
    elif manifest.vllm.effective_topology == "aggregated" and manifest.vllm.nodes_per_job == 1:
        given = manifest.vllm_router.model_fields_set
        if given:
            problem = "`vllm_router` is not read, because a single engine needs no router"
            yield subject.warning(("vllm_router", sorted(given)[0]), problem, "remove it, or set more nodes")
    if manifest.srun.effective_runtime == "none" and manifest.srun.container is not None:
        yield subject.warning(("srun", "container"), "`srun.container` is not read, because the runtime is `none`")


def _same_data(subject: Subject) -> Iterator[Finding]:
    first: dict[tuple[str, str], str] = {}
    for number, entry in enumerate(subject.manifest.entries):
        other = first.setdefault((entry.data, entry.effective_agent), entry.label)
        if other != entry.label:
            problem = f"`{entry.label}` has the dataset and the agent of `{other}`, so its tasks run twice"
            yield subject.warning(("entries", number, "data"), problem, "remove one of them")


def _some(labels: list[str]) -> str:
    shown = ", ".join(labels[:3])
    return shown if len(labels) <= 3 else f"{shown} and {len(labels) - 3} more"
