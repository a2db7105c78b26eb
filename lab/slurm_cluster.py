"""A real Slurm cluster on this machine's loopback: one controller, as many virtual nodes as asked, a munge of its own.

Promise: up in seconds, as root or as any user, without systemd; all state in one directory, ports and sockets of its
own; only processes that it started are ever signalled, and none of them is left after `take_down` (the logs are).

    python -m lab.slurm_cluster up --dir .lab/slurm --nodes 4
    python -m lab.slurm_cluster down --dir .lab/slurm
"""

import argparse
import contextlib
import dataclasses
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

from lab import slurm_daemons
from lab.slurm_config import ClusterFiles, ClusterShape, render
from reward_profiling.errors import LaunchError, RewardProfilingError
from reward_profiling.files import write_json, write_text
from reward_profiling.scheduler.processes import ProcessIdentity, identity_from_record, send

_MUNGED, _CONTROLLER = "munged", "slurmctld"


class SlurmCluster:
    """A cluster that is up; `raise_` makes one and `find` finds one that another process made."""

    def __init__(self, files: ClusterFiles, shape: ClusterShape, daemons: dict[str, ProcessIdentity]) -> None:
        self.files = files
        self.shape = shape
        self._daemons = daemons

    @classmethod
    @contextlib.contextmanager
    def raise_(cls, directory: Path, *, nodes: int = 4, cpus: int = 4, min_job_age: int = 300) -> Iterator[Self]:
        """Raise a cluster, wait until its nodes take jobs, and take it down at the end of the block."""
        cluster = cls.up(directory, ClusterShape(nodes, cpus, min_job_age))
        try:
            yield cluster
        finally:
            cluster.take_down()

    @classmethod
    def up(cls, directory: Path, shape: ClusterShape) -> Self:
        """Raise a cluster that outlives this process; `LaunchError` when it does not come up or is up already."""
        files = ClusterFiles(directory.resolve())
        with contextlib.suppress(FileNotFoundError):
            if any(daemon.alive for daemon in cls.find(directory)._daemons.values()):
                raise LaunchError("a cluster is up here", place=str(directory), cure="take it down first")
        files.make()
        write_text(files.config, render(files, shape))
        (files.munge / "key").write_bytes(secrets.token_bytes(1024))
        (files.munge / "key").chmod(0o600)
        cluster = cls(files, shape, {})
        try:
            cluster._start_munge()
            cluster._start(_CONTROLLER, "slurmctld", "-D", "-i")
            for name in shape.names:
                cluster._start_node(name)
            cluster.wait_ready()
        except BaseException:
            cluster.take_down()
            raise
        return cluster

    @classmethod
    def find(cls, directory: Path) -> Self:
        """The cluster that was raised in `directory`; FileNotFoundError when there is none."""
        files = ClusterFiles(directory.resolve())
        record = json.loads(files.record.read_text())
        daemons = {name: identity_from_record(entry) for name, entry in record["daemons"].items()}
        return cls(files, ClusterShape(**record["shape"]), daemons)

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process needs in its environment so that Slurm's commands talk to this cluster."""
        return {"SLURM_CONF": str(self.files.config)}

    @property
    def dead_nodes(self) -> tuple[str, ...]:
        """The nodes whose slurmd does not run, whether or not the controller has noticed."""
        return tuple(name for name in self.shape.names if not self._daemons[name].alive)

    def wait_ready(self, seconds: float = 30.0) -> None:
        """Wait until every node is idle or at work; `LaunchError` when a daemon died or the time is over."""
        deadline = time.monotonic() + seconds
        while len(ready := self._nodes_ready()) < self.shape.nodes:
            for name, daemon in self._daemons.items():
                if not daemon.alive:
                    raise LaunchError(f"{name} ended", place=str(self.files.directory), cure=self._look(name))
            if time.monotonic() > deadline:
                raise LaunchError(
                    f"{len(ready)} of {self.shape.nodes} nodes are ready after {seconds:.0f} s",
                    place=str(self.files.directory),
                    cure=self._look(_CONTROLLER),
                )
            time.sleep(0.1)

    def kill_node(self, name: str) -> None:
        """Cut a node's power: its slurmd and all that runs for jobs on it are killed at once.

        The controller notices after about 15 s (SlurmdTimeout and MessageTimeout); the node's jobs end as NODE_FAIL.
        """
        self._kill(name)
        slurm_daemons.kill_jobs(self.files.config, name)

    def restart_node(self, name: str) -> None:
        """Start a node again; it takes jobs as soon as the controller has heard of it."""
        self._kill(name)
        self._start_node(name)

    def restart_controller(self) -> None:
        """Stop the controller, which saves its state, and start it again; jobs run on meanwhile."""
        slurm_daemons.end([self._daemons[_CONTROLLER]])
        self._start(_CONTROLLER, "slurmctld", "-D")

    def take_down(self) -> None:
        """End every daemon and every job, and remove all files but the logs."""
        munge = self._daemons.pop(_MUNGED, None)
        slurm_daemons.end(self._daemons.values())
        slurm_daemons.kill_jobs(self.files.config)
        if munge is not None:
            slurm_daemons.end([munge])
        self._daemons.clear()
        for folder in (self.files.config.parent, self.files.munge, self.files.state, self.files.spool):
            shutil.rmtree(folder, ignore_errors=True)
        self.files.record.unlink(missing_ok=True)

    def _start(self, name: str, *command: str) -> None:
        environment = dict(self.environment)
        if name in self.shape.names:
            environment["SLURMD_NODENAME"] = name
        self._daemons[name] = slurm_daemons.start(command, self.files.logs / f"{name}.out", environment)
        daemons = {key: dataclasses.asdict(value) for key, value in self._daemons.items()}
        write_json(self.files.record, {"shape": dataclasses.asdict(self.shape), "daemons": daemons})

    def _start_munge(self) -> None:
        folder, socket = self.files.munge, self.files.munge_socket
        files = (f"--{name}-file={folder / name}" for name in ("key", "pid", "seed"))
        self._start(_MUNGED, "munged", "--foreground", "--force", f"--socket={socket}", *files)
        deadline = time.monotonic() + 10
        while not socket.exists():
            if not self._daemons[_MUNGED].alive or time.monotonic() > deadline:
                raise LaunchError("munged does not come up", place=str(folder), cure=self._look(_MUNGED))
            time.sleep(0.02)

    def _start_node(self, name: str) -> None:
        self._start(name, "slurmd", "-D", "-N", name)

    def _kill(self, name: str) -> None:
        daemon = self._daemons[name]
        if daemon.alive:
            send([daemon.pid], signal.SIGKILL)
        slurm_daemons.wait_gone([daemon], 5)
        slurm_daemons.reap(daemon)

    def _nodes_ready(self) -> set[str]:
        command = ["sinfo", "--noheader", "--Node", "--format=%N %T"]
        environment = {**os.environ, **self.environment}
        try:
            answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
        except subprocess.TimeoutExpired:
            return set()
        rows = (line.split() for line in answer.stdout.splitlines())
        return {row[0] for row in rows if len(row) == 2 and row[1] in ("idle", "mixed", "allocated")}

    def _look(self, name: str) -> str:
        return f"look into {self.files.logs}/{name}.log and {name}.out"


def main() -> int:
    """The command `python -m lab.slurm_cluster`."""
    parser = argparse.ArgumentParser(prog="python -m lab.slurm_cluster", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("up", "down"):
        commands.add_parser(command).add_argument("--dir", type=Path, default=Path(".lab/slurm"), metavar="DIR")
    up = commands.choices["up"]
    up.add_argument("--nodes", type=int, default=4, help="virtual nodes, n1 to nN")
    up.add_argument("--cpus", type=int, default=4, help="CPUs that each node claims to have")
    arguments = parser.parse_args()
    try:
        if arguments.command == "up":
            cluster = SlurmCluster.up(arguments.dir, ClusterShape(arguments.nodes, arguments.cpus))
            print(f"export SLURM_CONF={cluster.environment['SLURM_CONF']}")
            print(f"# take it down: python -m lab.slurm_cluster down --dir {arguments.dir}")
        else:
            with contextlib.suppress(FileNotFoundError):
                SlurmCluster.find(arguments.dir).take_down()
    except RewardProfilingError as error:
        print(f"lab: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
