"""NeMo Gym's own opinion of a sweep's configuration: `gym env resolve` on what a job would read.

Promise: starts no server and leaves no file. What is not set yet (policy, secrets) gets placeholders, so that only
mistakes are reported; `variables` reports what is not set.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from reward_profiling.manifest import gym_configs
from reward_profiling.manifest.sweep_config import render
from reward_profiling.manifest.validation.findings import Finding, Subject
from reward_profiling.manifest.validation.variables import Unmet, unmet

PLACEHOLDER = "placeholder"
POLICY = {
    "policy_base_url": "http://placeholder.invalid/v1",
    "policy_model_name": PLACEHOLDER,
    "policy_api_key": PLACEHOLDER,
}


def check(subject: Subject, gym: Path, *, timeout_s: float = 300) -> Iterator[Finding]:
    """One error when `gym` cannot resolve the configuration; a warning when it gives no answer."""
    configs = gym_configs.read(subject.manifest.config_paths, subject.roots)
    missing = unmet(subject.manifest, subject.roots, configs, subject.environ)
    with tempfile.TemporaryDirectory(prefix="reward-profiling-") as folder:
        config = Path(folder) / "sweep_config.yaml"
        config.write_text(render(subject.loaded, subject.roots))
        start = subject.manifest.gym_env_start
        given = {name for name in POLICY if getattr(start, name) is not None}
        values = {name: value for name, value in POLICY.items() if name not in given}
        values |= dict.fromkeys(missing.names, PLACEHOLDER)
        overrides = [f"++{name}={value}" for name, value in values.items()]
        try:
            done = subprocess.run(
                [str(gym), "env", "resolve", "--config", config.name, *overrides],
                cwd=folder,
                env=_environment(subject, missing),
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            yield subject.warning((), f"{gym} gave no answer ({type(error).__name__})", "run it by hand")
            return
    if done.returncode != 0:
        yield subject.error(("gym_env_start",), f"NeMo Gym cannot resolve the configuration: {_said(done)}")


def _environment(subject: Subject, missing: Unmet) -> Mapping[str, str]:
    placeholders = dict.fromkeys(missing.variables, PLACEHOLDER)
    return {**subject.environ, **placeholders, "NEMO_GYM_EXTRA_ROOTS": subject.roots.job_search_path}


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """NeMo Gym's error in one line."""
    text = done.stderr if done.stderr.strip() else done.stdout
    _, marker, after = text.rpartition("Error:")
    said = " ".join((after if marker else text).split())
    return said[:400] or f"exit code {done.returncode}"
