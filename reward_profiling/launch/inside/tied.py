"""Run a program that ends when its starter does: `python tied.py SIGNAL STARTER -- PROGRAM ARGUMENT…`.

Promise: the kernel sends SIGNAL to the program when the process STARTER dies, however it dies; SIGINT has its default
meaning again, which a shell takes from what it runs in the background. This file stands alone: it is run by path,
without the package.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    number, starter, program = int(arguments[0]), int(arguments[1]), arguments[3:]
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != starter:  # it died before the kernel knew
        sys.exit(1)
    os.execvp(program[0], program)  # noqa: S606 - becoming the program is the point


if __name__ == "__main__":
    main(sys.argv[1:])
