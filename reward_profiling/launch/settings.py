"""What a job is told: everything that a manifest, the environment and the command line say about running one shard.

Promise: resolved and checked before anything is rendered; data only. No secret is in it: secrets are names of
environment variables, which `refuse_unset` compares with an environment before a job is submitted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reward_profiling.errors import LaunchError
from reward_profiling.launch.gym_command import GymCommand
from reward_profiling.launch.overrides import override
from reward_profiling.launch.patience import Patience
from reward_profiling.launch.policy_settings import Endpoint, Engine, policy_of, variable_of
from reward_profiling.launch.scheduler_options import scheduler_options
from reward_profiling.manifest import gym_configs
from reward_profiling.manifest.gym_configs import Configs
from reward_profiling.manifest.load import LoadedManifest
from reward_profiling.manifest.validation.variables import env_file, unmet

_UNUSED = "unused"
_COLLECTOR_DEFAULTS: Mapping[str, object] = {
    "disable_aggregation": True,
    "route_failures_to_sidecar": True,
    "retain_results_in_memory": False,
}
_GIVEN_ALREADY = {"policy_base_url", "policy_model_name"}


@dataclass(frozen=True)
class JobSettings:
    """One shard's job, whichever shard it is.

    `policy` is None with the collector stand-in, which asks none. `server_overrides` go to `gym env start`,
    `collector_overrides` to `gym eval run`; `model_params` are the manifest's own for the former. `secrets` are all
    environment variables that the configs refer to, `policy_key` the one that holds the policy's key.
    """

    gym: GymCommand
    policy: Endpoint | Engine | None
    model: str
    concurrency: int
    options: Mapping[str, str | None]
    server_overrides: tuple[str, ...]
    model_params: tuple[str, ...]
    collector_overrides: tuple[str, ...]
    engine_config: Path | None = None
    secrets: tuple[str, ...] = ()
    policy_key: str | None = None
    search_path: str = ""
    patience: Patience = field(default_factory=Patience)

    @classmethod
    def from_manifest(
        cls, loaded: LoadedManifest, *, gym: GymCommand, environ: Mapping[str, str], patience: Patience | None = None
    ) -> "JobSettings":
        """The settings that `loaded` stands for; `LaunchError` for what no job can be made of."""
        manifest = loaded.manifest
        configs = gym_configs.read(manifest.config_paths, loaded.roots)
        policy = None if gym.simulated else policy_of(loaded, environ)
        return cls(
            gym=gym,
            policy=policy,
            model=manifest.model or _UNUSED,
            concurrency=manifest.concurrency,
            options=scheduler_options(manifest),
            server_overrides=_server_overrides(loaded, configs, policy),
            model_params=manifest.vllm.gym_model_params,
            collector_overrides=_collector_overrides(loaded),
            engine_config=None if gym.simulated else _engine_config(loaded),
            secrets=unmet(manifest, loaded.roots, configs, {}).variables,
            policy_key=variable_of(manifest.gym_env_start.policy_api_key),
            search_path=loaded.roots.job_search_path,
            patience=patience or Patience(),
        )

    def refuse_unset(self, environ: Mapping[str, str]) -> None:
        """Raise `LaunchError` when a variable that the job needs is not set."""
        unset = [name for name in self.secrets if name not in environ]
        if unset:
            raise LaunchError(
                f"not set in the environment: {', '.join(unset)}", cure="export them; the configs refer to them"
            )


def _server_overrides(loaded: LoadedManifest, configs: Configs, policy: Endpoint | Engine | None) -> tuple[str, ...]:
    """What `gym env start` is told beyond sweep_config.yaml: the policy, and what was set after that was written."""
    start = loaded.manifest.gym_env_start
    given: dict[str, object] = {"policy_model_name": loaded.manifest.model or _UNUSED}
    if not isinstance(policy, Engine):
        # The engine's URL has a port that only the job knows.
        given["policy_base_url"] = policy.url if policy else start.policy_base_url or _UNUSED
    if start.policy_api_key is None and "policy_api_key" not in configs.merged() | env_file(loaded.roots)[0]:
        given["policy_api_key"] = _UNUSED  # Gym insists on one
    for setting in loaded.settings:
        key = setting.name.removeprefix("gym_env_start.")
        if key == setting.name or key in _GIVEN_ALREADY or setting.origin in {"default", "manifest"}:
            continue
        if key == "config_paths":
            raise LaunchError(
                f"gym_env_start.config_paths comes from {setting.origin}, and the sweep has its configs already",
                cure="unset it, or materialize the sweep again",
            )
        given[key] = setting.value
    return tuple(override(key, value) for key, value in given.items())


def _collector_overrides(loaded: LoadedManifest) -> tuple[str, ...]:
    """The manifest's own keys over what every job sets (Gym contract 3.9), as keys that old and new releases take."""
    values = {**_COLLECTOR_DEFAULTS, **loaded.manifest.gym_eval_run.free}
    return tuple(override(key, value) for key, value in values.items())


def _engine_config(loaded: LoadedManifest) -> Path | None:
    written = loaded.manifest.vllm.config
    if written is None:
        return None
    found = loaded.roots.find(written)
    if found is None:
        raise LaunchError(
            f"{written} is not found", place=loaded.place("vllm", "config"), cure="give its absolute path"
        )
    return found.path.absolute()
