"""The check `complete`: nothing of a sweep is outstanding (design, decision 8: partial is never shown as complete).

Promise: passes only when every rollout of every shard is gated; a sweep that cannot be looked at does not pass, and the
check says why.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import dagster as dg

from reward_profiling.errors import RewardProfilingError
from reward_profiling.launch.overview import overview
from reward_profiling.sweep.completeness import load_plan
from reward_profiling.sweep.layout import SweepDir

NAME = "complete"


@dataclass(frozen=True)
class Verdict:
    """Whether a sweep is complete, and why not, in one line."""

    passed: bool
    reason: str

    def result(self, key: dg.AssetKey) -> dg.AssetCheckResult:
        """For the run that materializes `key` itself."""
        return dg.AssetCheckResult(
            asset_key=key, check_name=NAME, passed=self.passed, description=self.reason, metadata={"why": self.reason}
        )

    def evaluation(self, key: dg.AssetKey) -> dg.AssetCheckEvaluation:
        """For whoever reports on `key` from outside such a run."""
        return dg.AssetCheckEvaluation(
            asset_key=key,
            check_name=NAME,
            passed=self.passed,
            description=self.reason,
            metadata={"why": dg.MetadataValue.text(self.reason)},
        )


def spec(key: dg.AssetKey) -> dg.AssetCheckSpec:
    """The check of one asset of a sweep."""
    return dg.AssetCheckSpec(NAME, asset=key, description="No rollout of the sweep is outstanding.")


def judge(sweep: SweepDir, environ: Mapping[str, str]) -> Verdict:
    """The verdict on a sweep as its files are now."""
    try:
        found = overview(load_plan(sweep, environ))
    except RewardProfilingError as error:
        return Verdict(passed=False, reason=str(error))
    return verdict(found.counts.expected, found.counts.outstanding, simulated=found.simulated)


def verdict(expected: int, outstanding: int, *, simulated: bool) -> Verdict:
    """The verdict that follows from counts of rollouts; it says so when some were made by the collector stand-in."""
    mark = " (simulated)" if simulated else ""
    if outstanding:
        return Verdict(passed=False, reason=f"{outstanding} of {expected} rollouts are outstanding{mark}")
    return Verdict(passed=True, reason=f"all {expected} rollouts are done{mark}")
