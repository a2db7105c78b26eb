"""`sweep_config.yaml`, what `gym env start --config` reads: every config of the sweep and the manifest's overlay.

Promise: a job reads the very files that were found here. Whatever is found outside an installed NeMo Gym stands as an
absolute path; what only the installation (or, unseen from here, the container) holds stays relative. NeMo Gym lets the
later of two configs win, so the sweep's own `config_paths` come last, and the overlay beats them all.
"""

from reward_profiling.manifest.load import LoadedManifest
from reward_profiling.manifest.roots import SearchRoots
from reward_profiling.manifest.schema import Manifest
from reward_profiling.manifest.yaml_tree import dump


def config_paths(manifest: Manifest, roots: SearchRoots) -> list[str]:
    """Every config of the sweep where it is found; of two ways to write one file, the later stays."""
    found = [located(path, roots) for path in manifest.config_paths]
    return list(dict.fromkeys(reversed(found)))[::-1]


def render(loaded: LoadedManifest, roots: SearchRoots) -> str:
    """The text of `sweep_config.yaml`."""
    start = loaded.manifest.gym_env_start
    policy = {
        "policy_base_url": start.policy_base_url,
        "policy_model_name": start.policy_model_name,
        "policy_api_key": start.policy_api_key,
    }
    given = {key: value for key, value in policy.items() if value is not None}
    return dump({"config_paths": config_paths(loaded.manifest, roots), **given, **start.free})


def located(path: str, roots: SearchRoots) -> str:
    """`path` as a job finds it: absolute, unless only an installed NeMo Gym (or nothing here) holds it."""
    found = roots.find(path)
    return path if found is None or found.kind == "installed gym" else str(found.path)
