"""The blocks that NeMo Gym's commands consume: `gym env start`, `gym eval run`, `gym eval profile`."""

from typing import Annotated

from pydantic import Field

from reward_profiling.manifest.block import Block, FreeBlock, PositiveInt, Text, Texts


class GymEnvStart(FreeBlock):
    """What `gym env start --config` reads; every key but `config_paths` is an overlay over all configs."""

    config_paths: Texts = ()
    """NeMo Gym configs for the whole sweep, such as the policy's model server; they win over the entries' configs."""

    policy_base_url: Text | None = None
    """The policy is served here already (an OpenAI-compatible URL ending in `/v1`): mode `endpoint`."""

    policy_model_name: Text | None = None
    """The model name to ask the endpoint for."""

    policy_api_key: Text | None = None
    """The endpoint's key, by name: `${oc.env:NAME}`."""


class GymEvalRun(FreeBlock):
    """What `gym eval run` is told; any other key is passed as `++key=value`."""

    num_repeats: PositiveInt = 1
    """Rollouts per task, unless the entry says otherwise; their spread is the profile."""

    num_samples_in_parallel: PositiveInt | None = None
    """Rollouts in flight per job; unset is `vllm.max_num_seqs` times the decode nodes."""


class GymEvalProfile(Block):
    """How profiles are made."""

    allow_partial_rollouts: bool = True
    """Whether a sweep with outstanding rollouts may be profiled (marked as partial)."""

    jobs: PositiveInt | None = None
    """Environments profiled at a time; unset is one per processor."""

    pass_threshold: Annotated[float, Field(allow_inf_nan=False)] = 1.0
    """A rollout passes when its reward is at least this."""
