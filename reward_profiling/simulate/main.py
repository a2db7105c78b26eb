"""The command line of the stand-in: the part of `gym` that a job calls (Gym contract 1-3).

Promise: `env start`, `eval run --no-serve` and `--version [--json]` with Gym's flags and `key=value` overrides;
unknown flags exit with 2, unknown `+key=` are accepted, every other refusal is one line and exit code 1 (2 for a
misspelt `simulate` setting). A job learns what an installed Gym takes in the same way here and there: `gym eval run
--help` names each long flag (a Gym that lacks `--disable-aggregation` wants `+disable_aggregation=true`), and
`gym --version --json` says `{"nemo_gym": "0.7.0", …}`; here it adds `"simulated": true`.
"""

import argparse
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reward_profiling.errors import RewardProfilingError
from reward_profiling.simulate import config, head, overrides, steering
from reward_profiling.simulate.collect import Collector, Options
from reward_profiling.simulate.materialize import start_over
from reward_profiling.simulate.outputs import Outputs, read_done

MIRRORED_VERSION = "0.7.0"
"""The release of NeMo Gym whose behaviour this is."""

_log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="gym (simulated): %(message)s")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        match given:
            case ["env", "start", *rest]:
                return _env_start(rest)
            case ["eval", "run", *rest]:
                return _eval_run(rest)
            case _:
                return _version(given)
    except RewardProfilingError as error:
        _log.error("%s", error)
        return error.exit_code
    except OSError as error:
        _log.error("%s", error)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _env_start(arguments: Sequence[str]) -> int:
    flags, settings = _parse(_env_start_parser(), arguments)
    roots = [*(flags.search_dir or []), *os.environ.get("NEMO_GYM_EXTRA_ROOTS", "").split(os.pathsep)]
    given = [overrides.path_text("--config", path) for path in flags.config or []]
    paths = given or settings.pop("config_paths", None) or []
    configs = config.load(paths, settings, config.Surroundings(tuple(filter(None, roots)), os.environ))
    steered = steering.resolve({}, os.environ, configs.get("simulate") or {})
    return head.serve(configs, head.address(configs.get("head_server") or {}), steered)


def _eval_run(arguments: Sequence[str]) -> int:
    parser = _eval_run_parser()
    flags, settings = _parse(parser, arguments)
    for key, flag in (("input_jsonl_fpath", "--input"), ("output_jsonl_fpath", "--output")):
        if settings.get(key) is None:
            parser.error(f"missing required configuration: {key}; pass {flag}")
    if not flags.no_serve:
        parser.error("the stand-in only collects against its own env start; pass --no-serve")
    plan = head.ask(head.address(overrides.section(settings, "head_server")))
    steered = steering.resolve(plan.simulate, os.environ, overrides.section(settings, "simulate"))
    outputs = Outputs(Path(str(settings["output_jsonl_fpath"])))
    if not (flags.resume and outputs.resumable):
        source = Path(str(settings["input_jsonl_fpath"]))
        start_over(outputs, source, repeats=settings.get("num_repeats") or 1, limit=settings.get("limit"))
    done = read_done(outputs, os.environ, retry_terminal=bool(settings.get("retry_terminal_timeouts")))
    options = Options(
        concurrency=settings.get("num_samples_in_parallel"),
        route_failures=bool(settings.get("route_failures_to_sidecar")),
        require_complete=bool(settings.get("require_complete")),
        tolerate_foreign=settings.get("retain_results_in_memory") is False,
    )
    return Collector(outputs, done, plan.environment_servers, options, steered).run()


def _version(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="gym", description="A stand-in for NeMo Gym: env start, eval run.", allow_abbrev=False
    )
    parser.add_argument("--version", action="store_true", help="say which NeMo Gym this mirrors")
    parser.add_argument("--json", action="store_true", help="output as machine-readable JSON")
    flags = parser.parse_args(arguments)
    if not flags.version:
        parser.error("choose one of: env start, eval run, --version")
    if flags.json:
        print(json.dumps({"nemo_gym": MIRRORED_VERSION, "simulated": True}))  # noqa: T201
    else:
        print(f"NeMo Gym v{MIRRORED_VERSION} (simulated)")  # noqa: T201
    return 0


def _parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> tuple[argparse.Namespace, dict[str, Any]]:
    """The flags, and all settings by Gym's own keys."""
    flags, rest = parser.parse_known_args(arguments)
    unknown = [argument for argument in rest if argument.startswith("-")]
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    by_key = {key: content for key, content in vars(flags).items() if content not in (None, False)}
    for key in by_key.keys() & {"input_jsonl_fpath", "output_jsonl_fpath"}:
        by_key[key] = overrides.path_text(f"--{key.partition('_')[0]}", by_key[key])
    for gathered in ("config", "search_dir"):
        by_key.pop(gathered, None)
    return flags, overrides.parse(rest, by_key)


def _parser(command: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"gym {command}", description=description, allow_abbrev=False)
    parser.add_argument("--config", metavar="PATH", action="append", help="config file to load; repeatable")
    parser.add_argument("--model-url", dest="policy_base_url", metavar="URL", help="model server base URL")
    parser.add_argument("--model", "-m", dest="policy_model_name", metavar="NAME", help="model name")
    parser.add_argument("--model-api-key", dest="policy_api_key", metavar="KEY", help="model server API key")
    return parser


def _env_start_parser() -> argparse.ArgumentParser:
    parser = _parser("env start", "Stand in for the servers.")
    parser.add_argument("--search-dir", metavar="DIR", action="append", help="extra root for configs; repeatable")
    return parser


def _eval_run_parser() -> argparse.ArgumentParser:
    parser = _parser("eval run", "Collect simulated rollouts.")
    parser.add_argument("--no-serve", action="store_true", help="collect against already-running servers")
    parser.add_argument("--resume", action="store_true", help="go on from what the output files hold")
    parser.add_argument("--input", "-i", dest="input_jsonl_fpath", help="input tasks (JSONL)")
    parser.add_argument("--output", "-o", dest="output_jsonl_fpath", help="output rollouts (JSONL)")
    parser.add_argument("--limit", type=int, help="at most so many tasks")
    parser.add_argument("--num-repeats", type=int, help="rollouts per task")
    parser.add_argument("--concurrency", dest="num_samples_in_parallel", type=int, help="rollouts at a time")
    parser.add_argument("--disable-aggregation", action="store_true", help="accepted: nothing is aggregated here")
    parser.add_argument("--no-health-check", action="store_true", help="accepted: nothing is checked here")
    return parser
