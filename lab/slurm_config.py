"""What a loopback Slurm cluster is made of: its files, its ports and its slurm.conf.

Promise: everything lies under one directory and listens on ports of its own, so that several clusters share a machine.
"""

import getpass
import os
import random
import socket
from dataclasses import dataclass
from pathlib import Path

from reward_profiling.errors import LaunchError

# Below the range from which Linux takes ports for outgoing connections, above the one NeMo Gym's servers use.
_PORTS = range(20001, 32000)
_LONGEST_SOCKET_PATH = 107  # sun_path of unix(7), without its final NUL


@dataclass(frozen=True)
class ClusterFiles:
    """Where a cluster keeps what it needs."""

    directory: Path

    @property
    def record(self) -> Path:
        """The daemons' pids and the cluster's shape, for whoever takes it down."""
        return self.directory / "cluster.json"

    @property
    def config(self) -> Path:
        return self.directory / "etc" / "slurm.conf"

    @property
    def munge(self) -> Path:
        return self.directory / "munge"

    @property
    def munge_socket(self) -> Path:
        return self.munge / "socket"

    @property
    def state(self) -> Path:
        return self.directory / "state"

    @property
    def spool(self) -> Path:
        return self.directory / "spool"

    @property
    def logs(self) -> Path:
        """Kept when the cluster is taken down."""
        return self.directory / "logs"

    @property
    def ended_jobs(self) -> Path:
        """One line per ended job, by Slurm's jobcomp/filetxt."""
        return self.logs / "jobcomp.txt"

    def make(self) -> None:
        """Make the folders, readable by their owner only, as munge demands."""
        if len(os.fsencode(self.munge_socket)) > _LONGEST_SOCKET_PATH:
            raise LaunchError(
                "the path is too long for a Unix socket", place=str(self.directory), cure="choose a shorter --dir"
            )
        for folder in (self.directory, self.config.parent, self.munge, self.state, self.spool, self.logs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@dataclass(frozen=True)
class ClusterShape:
    """How big a cluster is and how it behaves. `min_job_age` is in seconds: how long ended jobs stay in `squeue`."""

    nodes: int = 4
    cpus: int = 4
    min_job_age: int = 300

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))


def free_ports(count: int) -> list[int]:
    """`count` different TCP ports on which nothing listens now."""
    found: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise LaunchError(f"{count} free ports are wanted between {_PORTS.start} and {_PORTS.stop}", place="lab")


def render(files: ClusterFiles, shape: ClusterShape) -> str:
    """The cluster's slurm.conf, on ports that are free now."""
    host = socket.gethostname().partition(".")[0]
    user = getpass.getuser()
    controller, *ports = free_ports(1 + shape.nodes)
    nodes = "\n".join(
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={shape.cpus} RealMemory=65536"
        for name, port in zip(shape.names, ports, strict=True)
    )
    return f"""# Raised by lab.slurm_cluster; written anew each time.
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={files.munge_socket}
CredType=cred/munge
StateSaveLocation={files.state}
SlurmdSpoolDir={files.spool}/%n
SlurmctldPidFile={files.state}/slurmctld.pid
SlurmdPidFile={files.state}/%n.pid
SlurmctldLogFile={files.logs}/slurmctld.log
SlurmdLogFile={files.logs}/%n.log
MailProg=/bin/true

# One machine plays all nodes: nothing is measured or confined, and each claims the CPUs it was given.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core

# Quick to start jobs, to notice a lost node and to end what is cancelled.
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdTimeout=10
MessageTimeout=5
ReturnToService=2
KillWait=5
MinJobAge={shape.min_job_age}

AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={files.ended_jobs}

{nodes}
PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
