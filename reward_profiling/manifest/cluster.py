"""The blocks that Slurm's commands consume: options of `sbatch`, containers and sandboxes of `srun`."""

from typing import Literal

from reward_profiling.manifest.block import Block, FreeBlock, Port, PositiveInt, Text, Texts

OptionValue = str | int | float | bool


class Sbatch(FreeBlock):
    """Options of `sbatch`, by their long names; underscores or dashes, booleans as flags, `timelimit` is `--time`."""

    __pydantic_extra__: dict[str, OptionValue]

    @property
    def options(self) -> dict[str, OptionValue]:
        """Values by the name that sbatch takes, without dashes in front: `{"time": "04:00:00", "mem-per-cpu": 2}`."""
        return {"time" if key == "timelimit" else key.replace("_", "-"): value for key, value in self.free.items()}


class Srun(Block):
    """Containers and sandboxes of the job's steps."""

    container: Text | None = None
    """Image for the engines, the router, the NeMo Gym servers and the collector."""

    sandbox_container: Text | None = None
    """Image of the code sandbox; set it when an environment executes code."""

    mounts: Text | Texts = ()
    """`source:destination[:flags]` mounts for the containers, as a list or as one comma-separated text."""

    container_runtime: Literal["pyxis", "apptainer", "none"] | None = None
    """What runs the containers; unset is `pyxis` when a container is named, else `none`."""

    sandbox_port: Port = 6000
    """Port on which each sandbox listens."""

    sandbox_workers: PositiveInt = 16
    """Code executions that one sandbox runs at a time."""

    sandbox_nodes: PositiveInt | None = None
    """Nodes of the job that run a sandbox; unset uses all of them."""

    sandbox_lb_port: Port = 6001
    """Port of the balancer before the sandboxes when more than one node runs one."""

    @property
    def effective_runtime(self) -> Literal["pyxis", "apptainer", "none"]:
        """The runtime as given, else `pyxis` when a container is named."""
        if self.container_runtime is not None:
            return self.container_runtime
        return "pyxis" if self.container or self.sandbox_container else "none"

    @property
    def mount_list(self) -> tuple[str, ...]:
        """Every mount, one `source:destination[:flags]` each."""
        if isinstance(self.mounts, str):
            return tuple(mount.strip() for mount in self.mounts.split(",") if mount.strip())
        return self.mounts
