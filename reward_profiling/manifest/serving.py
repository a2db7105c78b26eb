"""The blocks that say how the policy model is served: the vLLM engines and the router before them."""

from typing import Annotated, Literal

from pydantic import Field

from reward_profiling.manifest.block import Block, PositiveInt, Seconds, Text, Texts

EnvironmentValue = str | int | float | bool


class Vllm(Block):
    """The policy model and the engines that serve it in `serve` mode."""

    model: Text | None = None
    """What `vllm serve` loads, and the model name that rollouts ask for."""

    config: Text | None = None
    """A bash file, sourced in the job, that sets the arrays VLLM_COMMON_ARGS, VLLM_PREFILL_ARGS, VLLM_DECODE_ARGS and
    optionally GYM_MODEL_PARAMS."""

    common_args: Texts = ()
    """Arguments of every engine, as VLLM_COMMON_ARGS."""

    prefill_args: Texts = ()
    """Arguments of prefill engines, as VLLM_PREFILL_ARGS."""

    decode_args: Texts = ()
    """Arguments of decode engines, as VLLM_DECODE_ARGS."""

    gym_model_params: Texts = ()
    """Overrides (`++key=value`) for NeMo Gym's side of the model, as GYM_MODEL_PARAMS."""

    topology: Literal["pd", "aggregated"] | None = None
    """`pd`: prefill and decode engines apart, behind a router; `aggregated`: plain engines. Unset follows from which
    node counts are given."""

    prefill_nodes: PositiveInt | None = None
    """Nodes that run a prefill engine, per job (topology `pd`; default 1)."""

    decode_nodes: PositiveInt | None = None
    """Nodes that run a decode engine, per job (topology `pd`; default 1)."""

    nodes: PositiveInt | None = None
    """Nodes that run an engine, per job (topology `aggregated`; default 1)."""

    max_num_seqs: PositiveInt = 512
    """Sequences one engine works on at a time."""

    env: dict[str, EnvironmentValue] = Field(default_factory=dict)
    """Environment variables of the engines."""

    @property
    def effective_topology(self) -> Literal["pd", "aggregated"]:
        """The topology as given, else `pd` when prefill or decode nodes are named."""
        if self.topology is not None:
            return self.topology
        return "pd" if self.prefill_nodes or self.decode_nodes else "aggregated"

    @property
    def prefill_node_count(self) -> int:
        """Nodes with a prefill engine; 0 in topology `aggregated`."""
        return (self.prefill_nodes or 1) if self.effective_topology == "pd" else 0

    @property
    def decode_node_count(self) -> int:
        """Nodes whose engine decodes: the decode engines, or all plain ones."""
        return (self.decode_nodes if self.effective_topology == "pd" else self.nodes) or 1

    @property
    def nodes_per_job(self) -> int:
        """Nodes that one shard's job asks for."""
        return self.prefill_node_count + self.decode_node_count


class VllmRouter(Block):
    """The router before the engines (`vllm-router`)."""

    request_timeout_s: Seconds | None = None
    """Seconds after which a request is given up; finite and below the walltime."""

    health_timeout_s: Seconds = 60.0
    """Seconds an engine may take to answer a health check."""

    health_interval_s: Seconds = 120.0
    """Seconds between health checks."""

    health_failures: PositiveInt = 10
    """Missed health checks in a row after which an engine is taken out; a busy engine misses some."""

    max_concurrent: PositiveInt | None = None
    """Requests that the router passes on at a time; unset takes the collector's concurrency."""

    queue_size: Annotated[int, Field(ge=0)] | None = None
    """Requests that may wait in the router; unset takes the collector's concurrency."""

    queue_timeout_s: Seconds = 600.0
    """Seconds a request may wait in the router's queue."""

    circuit_breaker: bool = False
    """Whether the router stops sending to an engine after errors."""

    log_level: Literal["debug", "info", "warn", "error"] = "info"
    """How much the router logs."""
