"""Speed and memory as ratios, printed: `python -m reward_profiling_tests.bench [NAME…]` with no name runs everything.

`profile` compares with `gym eval profile`, `plane` with `dd` and a straightforward implementation, `production` runs a
sweep with the counts of a real one. Each is also a module with options of its own.
"""

import argparse

from reward_profiling_tests.bench.plane.__main__ import main as plane
from reward_profiling_tests.bench.production.__main__ import main as production
from reward_profiling_tests.bench.profile.__main__ import main as profile

BENCHMARKS = {"profile": profile, "plane": plane, "production": production}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reward_profiling_tests.bench")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    names = parser.parse_args().names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(BENCHMARKS)}")
    for name in names:
        print(f"\n== {name}", flush=True)
        BENCHMARKS[name]([])


if __name__ == "__main__":
    main()
