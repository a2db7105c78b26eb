"""From a loaded manifest to what the data plane needs of it.

Promise: every path in a request is absolute, so the sweep directory it becomes can be moved and run from anywhere that
sees the same files. A dataset that is not found is refused with its place in the manifest.
"""

from reward_profiling.errors import ManifestError
from reward_profiling.manifest.load import LoadedManifest
from reward_profiling.manifest.meaning import meaning
from reward_profiling.manifest.sweep_config import located, render
from reward_profiling.manifest.yaml_tree import dump
from reward_profiling.sweep.deal import Layout
from reward_profiling.sweep.materialize import SweepRequest
from reward_profiling.sweep.report import SettingReport
from reward_profiling.sweep.tasks import EntryPlan


def request_from(loaded: LoadedManifest) -> SweepRequest:
    """The request that a manifest makes of the data plane; raises `ManifestError` for a dataset that is not found."""
    manifest = loaded.manifest
    return SweepRequest(
        nickname=manifest.nickname,
        manifest=str(loaded.path.absolute()),
        manifest_digest=loaded.digest,
        snapshot=snapshot(loaded),
        sweep_config=render(loaded, loaded.roots),
        layout=Layout(
            num_shards=manifest.num_shards, deal=manifest.materialize.deal, shuffle=manifest.materialize.shuffle
        ),
        sample=manifest.materialize.sample,
        seed=manifest.materialize.seed,
        limit_per_entry=manifest.materialize.limit_per_entry,
        entries=tuple(_plan(loaded, number) for number in range(len(manifest.entries))),
        settings=tuple(
            SettingReport(name=setting.name, value=setting.value, origin=setting.origin) for setting in loaded.settings
        ),
        digest_parts=loaded.digest_parts,
        meaning=meaning(manifest, loaded.roots),
    )


def _plan(loaded: LoadedManifest, number: int) -> EntryPlan:
    manifest = loaded.manifest
    entry = manifest.entries[number]
    found = loaded.roots.find(entry.data)
    if found is None:
        raise ManifestError(
            f"the dataset {entry.data} of entry {entry.label} is not found",
            place=loaded.place("entries", number, "data"),
            cure="give its absolute path, or one relative to the working directory or the manifest's folder",
        )
    return EntryPlan(
        label=entry.label,
        agent=entry.agent,
        data=found.path,
        repeats=manifest.repeats(entry),
        agent_ref_override=entry.agent_ref_override,
        limit=manifest.limit(entry),
        pass_threshold=manifest.pass_threshold(entry),
        owner=entry.owner,
    )


def snapshot(loaded: LoadedManifest) -> str:
    """The resolved manifest as YAML that loads again from any place, under a comment with its origin and digest."""
    roots = loaded.roots
    values = loaded.manifest.model_dump(mode="json", exclude_unset=True)
    start = values.setdefault("gym_env_start", {})
    start["config_paths"] = [located(path, roots) for path in loaded.manifest.gym_env_start.config_paths]
    for entry in values["entries"]:
        entry["data"] = located(entry["data"], roots)
        entry["configs"] = [located(path, roots) for path in entry["configs"]]
    if loaded.manifest.vllm.config is not None:
        values["vllm"]["config"] = located(loaded.manifest.vllm.config, roots)
    return f"# Resolved from {loaded.path.absolute()}\n# Digest {loaded.digest}\n{dump(values)}"
