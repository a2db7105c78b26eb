"""The job script of one attempt at one shard, from the templates beside this module.

Promise: the text depends on the arguments alone. Whatever a value holds, the script passes exactly that value on or
rendering raises `LaunchError`: every expression of a template becomes one shell word (`quoting`), and an undefined name
is an error. No secret is in the text, only names of variables.
"""

import re
import sys
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from reward_profiling.errors import LaunchError
from reward_profiling.launch.overrides import quoted
from reward_profiling.launch.policy_settings import Engine
from reward_profiling.launch.quoting import Verbatim, comment, expansion, sbatch_option, shell_word
from reward_profiling.launch.settings import JobSettings
from reward_profiling.launch.watch import job_name
from reward_profiling.sweep.layout import ShardDir, SweepDir, shard_number

_POLICY_TEMPLATES = {"none": "policy_none.sh.j2", "endpoint": "policy_endpoint.sh.j2", "serve": "policy_serve.sh.j2"}

_PLAIN_PATH = re.compile(r"/[A-Za-z0-9_./@+-]*\Z")


def render_job(
    shard: ShardDir, sweep: SweepDir, attempt: int, settings: JobSettings, *, python: str = sys.executable
) -> str:
    """The script of attempt `attempt` (counted from 1); `python` runs the part of it that is in this package."""
    number = shard_number(shard.name)
    if number is None:
        raise LaunchError(f"{shard.name} is no shard", place=str(shard.path))
    sweep, shard = SweepDir(sweep.path.absolute()), ShardDir(shard.path.absolute())
    logs = shard.attempt_logs(attempt)
    mode = "none" if settings.policy is None else "serve" if isinstance(settings.policy, Engine) else "endpoint"
    return (
        _environment()
        .get_template("job.sh.j2")
        .render(
            attempt=attempt,
            header=_header(sweep, number, logs, settings),
            logs=logs,
            mode=mode,
            number=number,
            paths={
                "config": _gym_path(sweep.sweep_config),
                "work_list": _gym_path(shard.work_list),
                "rollouts": _gym_path(shard.rollouts),
            },
            policy_template=_POLICY_TEMPLATES[mode],
            python=python,
            settings=settings,
            shard=shard,
            sweep=sweep,
        )
    )


def job_log(shard: ShardDir, attempt: int) -> Path:
    """What the job itself writes: its steps and why it ended."""
    return shard.attempt_logs(attempt) / "job.log"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reward_profiling.launch"),
        undefined=StrictUndefined,
        finalize=shell_word,
        autoescape=False,  # noqa: S701 - this is no HTML; `finalize` quotes for the shell
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"comment": comment, "expansion": expansion}
    return environment


def _header(sweep: SweepDir, number: int, logs: Path, settings: JobSettings) -> list[Verbatim]:
    """What sbatch reads; a scheduler that is given the same options otherwise passes it over."""
    ours = {
        "job-name": job_name(sweep, number),
        "output": str(logs / "job.log").replace("%", "%%"),  # a percent sign starts one of sbatch's patterns
        "open-mode": "append",
        "dependency": "singleton",
        "no-requeue": None,
    }
    return [sbatch_option(name, value) for name, value in {**ours, **settings.options}.items()]


def _gym_path(path: Path) -> str:
    """`path` as an argument of Gym's, which reads it by Hydra's grammar and then resolves references in it."""
    if _PLAIN_PATH.match(str(path)):
        return str(path)
    if "${" in str(path):
        raise LaunchError("Gym would read ${ in this path as a reference", place=str(path), cure="move the sweep")
    return quoted(str(path), "a path")
