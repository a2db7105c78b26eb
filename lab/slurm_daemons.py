"""Daemons that were started, remembered by identity, and ended by it.

Promise: a process is only ever signalled when it is the one that was started (pid, start time and boot agree).
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reward_profiling.errors import LaunchError
from reward_profiling.scheduler.processes import ProcessIdentity, identify, processes_with, send

_ADMINISTRATION = ("/usr/sbin", "/usr/local/sbin", "/sbin")


def start(command: Sequence[str], output: Path, environment: Mapping[str, str]) -> ProcessIdentity:
    """Start a daemon in the foreground mode of its own, in a session of its own, with its output in a file."""
    search = os.pathsep.join([os.environ.get("PATH", os.defpath), *_ADMINISTRATION])
    with output.open("ab") as stream:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=output.parent,
                env={**os.environ, **environment, "PATH": search},
                start_new_session=True,
            )
        except FileNotFoundError:
            raise LaunchError(
                "not found", place=command[0], cure="install Slurm's daemons and munge (Debian: slurm-wlm munge)"
            ) from None
    identity = identify(process.pid)
    if identity is None:
        raise LaunchError("ended at once", place=command[0], cure=f"look into {output}")
    return identity


def end(identities: Iterable[ProcessIdentity], *, grace: float = 5.0) -> None:
    """SIGTERM to each that still runs, SIGKILL to what is left after `grace` seconds, and wait until all are gone."""
    targets = list(identities)
    send((target.pid for target in targets if target.alive), signal.SIGTERM)
    if not wait_gone(targets, grace):
        send((target.pid for target in targets if target.alive), signal.SIGKILL)
        wait_gone(targets, grace)
    for target in targets:
        reap(target)


def wait_gone(identities: Iterable[ProcessIdentity], seconds: float) -> bool:
    """Wait until none of them runs; False when the time is over."""
    left = list(identities)
    deadline = time.monotonic() + seconds
    while left := [identity for identity in left if identity.alive]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def reap(identity: ProcessIdentity) -> None:
    """Collect the exit status of a dead daemon that this very process started."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(identity.pid, os.WNOHANG)


def kill_jobs(config: Path, node: str | None = None) -> None:
    """Kill at once whatever Slurm runs for jobs of this cluster, on one node or on all.

    slurmd is started with SLURMD_NODENAME set, its step managers inherit that, and Slurm sets it in each job's
    processes; SLURM_CONF tells the cluster.
    """
    of_cluster = os.fsencode(f"SLURM_CONF={config}")
    of_node = b"SLURMD_NODENAME=" + os.fsencode(node or "")

    def chosen(environment: frozenset[bytes]) -> bool:
        return of_cluster in environment and any(
            item == of_node if node else item.startswith(of_node) for item in environment
        )

    deadline = time.monotonic() + 5
    while (found := processes_with(chosen)) and time.monotonic() < deadline:
        send(found, signal.SIGKILL)
        time.sleep(0.02)
