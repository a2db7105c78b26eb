"""All invariants of a sweep directory, asserted from its files.

Promise: nothing is changed, not even the index. Everything that was collected is read anew, so it takes as long as the
disk takes; a check that passes says that no rollout is lost, doubled or in the wrong place.
"""

from reward_profiling.sweep.check_layout import check_labels, check_shards
from reward_profiling.sweep.check_rows import check_rows
from reward_profiling.sweep.check_snapshots import check_snapshots
from reward_profiling.sweep.check_work_lists import check_work_lists
from reward_profiling.sweep.completeness import Plan
from reward_profiling.sweep.findings import Check


def check_sweep(plan: Plan) -> list[Check]:
    """Every check of the files of a sweep, in the order in which a person reads them."""
    collected = check_rows(plan)
    return [
        check_labels(plan),
        check_shards(plan),
        check_work_lists(plan),
        *collected.checks,
        check_snapshots(plan, collected.rollouts, collected.failures),
    ]
