"""The `manifest` asset: what defines the sweep, with its digest as data version (design, decision 11).

Promise: materializing it changes no file. The snapshot that jobs run from is written by `tasks`, once the change is
accepted: a manifest that would renumber or redefine collected rollouts must not reach a job.
"""

from typing import Any

import dagster as dg

from reward_profiling.assets.failures import one_line
from reward_profiling.assets.sweep import ONE_RUN, BrokenManifest, Sweep
from reward_profiling.assets.tables import markdown
from reward_profiling.sweep.request import request_from


def manifest_asset(sweep: Sweep) -> dg.AssetsDefinition:
    """Materializing it records the manifest as it is now; everything below turns stale when it has changed."""

    @dg.asset(
        key=sweep.key("manifest"),
        group_name=sweep.group,
        code_version=sweep.digest,
        backfill_policy=ONE_RUN,
        kinds={"yaml"},
        description="The resolved manifest. Its digest stands on everything that is made from it.",
    )
    def manifest() -> dg.MaterializeResult:  # type: ignore[type-arg]
        with one_line():
            request_from(sweep.loaded)
        return dg.MaterializeResult(data_version=dg.DataVersion(sweep.digest), metadata=_metadata(sweep))

    return manifest


def _metadata(sweep: Sweep) -> dict[str, Any]:
    manifest = sweep.loaded.manifest
    entries = (
        (
            entry.label,
            entry.agent_ref_override or entry.agent,
            entry.data,
            manifest.repeats(entry),
            manifest.limit(entry),
            manifest.pass_threshold(entry),
            entry.owner,
        )
        for entry in manifest.entries
    )
    settings = ((setting.name, setting.value, setting.origin) for setting in sweep.loaded.settings)
    return {
        "manifest_digest": sweep.digest,
        "model": manifest.model,
        "num_shards": manifest.num_shards,
        "entries": markdown(("label", "agent", "data", "repeats", "limit", "pass threshold", "owner"), entries),
        "settings": markdown(("setting", "value", "origin"), settings),
        "manifest": dg.MetadataValue.path(sweep.loaded.path.absolute()),
    }


def broken_manifest_asset(broken: BrokenManifest) -> dg.AssetsDefinition:
    """An asset that says what is wrong, in its description and when somebody materializes it."""

    @dg.asset(
        key=dg.AssetKey([broken.name, "manifest"]),
        group_name=broken.name,
        kinds={"yaml"},
        description=f"This manifest does not load. {broken.problem}",
        metadata={"manifest": dg.MetadataValue.path(broken.path.absolute())},
    )
    def manifest() -> None:
        raise dg.Failure(description=broken.problem, allow_retries=False)

    return manifest
