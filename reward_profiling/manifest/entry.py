"""The blocks that say which rows are in a sweep: one entry per environment, and how many rows of each."""

from typing import Annotated, Any, Literal

from pydantic import Field

from reward_profiling.manifest.block import Block, PositiveInt, Text, Texts

SAFE_NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]*$"
"""A name that is safe as a directory, a file name and a part of an asset key."""

Name = Annotated[str, Field(pattern=SAFE_NAME, max_length=128)]


class Entry(Block):
    """One environment to profile: a dataset, an agent, and the NeMo Gym configs that declare it."""

    label: Name
    """Names the environment in every file and table; unique, letters, digits and `._-` only."""

    agent: Text
    """The `agent_ref.name` that the rows of the dataset carry."""

    configs: Annotated[Texts, Field(min_length=1)]
    """NeMo Gym configs that declare the agent and its servers; absolute, or relative to a search root."""

    data: Text
    """The dataset, JSON Lines; absolute, or relative to a search root."""

    owner: Text | None = None
    """Who to ask about this environment."""

    agent_ref_override: Text | None = None
    """An agent that replaces the rows' own when the sweep is materialized; it must be declared by `configs`."""

    num_repeats: PositiveInt | None = None
    """Rollouts per task of this entry; unset takes `gym_eval_run.num_repeats`."""

    limit: PositiveInt | None = None
    """Rows to take from this dataset; unset takes `materialize.limit_per_entry`."""

    pass_threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """A rollout passes when its reward is at least this; unset takes `gym_eval_profile.pass_threshold`."""

    pass_rate_field: Text = "pass_rate"  # noqa: S105 - no password
    """The field that receives the new pass rate when the dataset is rewritten."""

    notes: Any = None
    """Anything worth keeping beside the entry; never read."""

    @property
    def effective_agent(self) -> str:
        """The agent that the rollouts run with."""
        return self.agent_ref_override or self.agent


class Materialize(Block):
    """Which rows of each dataset enter the sweep, and how they are dealt over shards and ordered."""

    limit_per_entry: PositiveInt | None = None
    """Rows to take from each entry without a `limit` of its own; unset takes every row. From the environment or the
    command line it lowers every limit and raises none."""

    sample: Literal["head", "random"] = "head"
    """How a limited entry chooses its rows: the first ones, or a seeded random selection."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seeds `sample: random`, together with the entry's label."""

    deal: Literal["task", "row"] = "task"
    """What is dealt over the shards: tasks, each with all its repeats, which then share their prompt in the engine's
    prefix cache; or single rows, which spreads the repeats of a task over shards."""

    shuffle: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    """Seeds a shuffled order of dispatch within each shard, so that its environments are collected side by side; unset
    keeps the order of the entries. Tasks keep their indices and shards."""
