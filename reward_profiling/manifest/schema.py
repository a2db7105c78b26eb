"""The manifest as data: one frozen model per block, each named for the command that consumes it.

Promise: a `Manifest` holds only values of the declared types. What one key cannot decide alone (unique labels, limits
for a random sample, secrets) is `rules`' task; what needs the file system is `validation`'s.
"""

from typing import Annotated, Literal

from pydantic import Field

from reward_profiling.manifest.block import Block, PositiveInt
from reward_profiling.manifest.cluster import Sbatch, Srun
from reward_profiling.manifest.entry import Entry, Materialize, Name
from reward_profiling.manifest.gym import GymEnvStart, GymEvalProfile, GymEvalRun
from reward_profiling.manifest.serving import Vllm, VllmRouter

Mode = Literal["endpoint", "serve"]


class Manifest(Block):
    """The committed definition of a sweep."""

    nickname: Name
    """Names the sweep; scopes every file and every asset key. Letters, digits and `._-` only."""

    num_shards: PositiveInt = 1
    """Slurm jobs to deal the tasks over."""

    vllm: Vllm = Vllm()
    vllm_router: VllmRouter = VllmRouter()
    materialize: Materialize = Materialize()
    sbatch: Sbatch = Sbatch()
    srun: Srun = Srun()
    gym_env_start: GymEnvStart = GymEnvStart()
    gym_eval_run: GymEvalRun = GymEvalRun()
    gym_eval_profile: GymEvalProfile = GymEvalProfile()

    entries: Annotated[tuple[Entry, ...], Field(min_length=1, strict=False)]
    """The environments to profile, at least one; their order assigns task indices."""

    def repeats(self, entry: Entry) -> int:
        """Rollouts per task of `entry`."""
        return entry.num_repeats or self.gym_eval_run.num_repeats

    def limit(self, entry: Entry) -> int | None:
        """Rows to take from `entry`; None takes every row."""
        return entry.limit or self.materialize.limit_per_entry

    def pass_threshold(self, entry: Entry) -> float:
        """The reward from which a rollout of `entry` passes."""
        return self.gym_eval_profile.pass_threshold if entry.pass_threshold is None else entry.pass_threshold

    @property
    def config_paths(self) -> tuple[str, ...]:
        """Every NeMo Gym config as written, each once: the entries' first, the sweep's own last, so that these win."""
        own = self.gym_env_start.config_paths
        entries = [path for entry in self.entries for path in entry.configs if path not in own]
        return tuple(dict.fromkeys((*entries, *own)))

    @property
    def mode(self) -> Mode:
        """`endpoint` when the policy is served already, else `serve`."""
        return "endpoint" if self.gym_env_start.policy_base_url else "serve"

    @property
    def model(self) -> str | None:
        """The model that rollouts ask for; None when the manifest names none."""
        return self.gym_env_start.policy_model_name if self.mode == "endpoint" else self.vllm.model

    @property
    def nodes_per_job(self) -> int:
        """Nodes that one shard's job has: those of the engines, or one when the policy is served elsewhere."""
        return self.vllm.nodes_per_job if self.mode == "serve" else 1

    @property
    def concurrency(self) -> int:
        """Rollouts in flight per job."""
        return self.gym_eval_run.num_samples_in_parallel or self.vllm.max_num_seqs * self.vllm.decode_node_count
