"""`python -m reward_profiling.simulate` is the executable `reward-profiling-simulated-gym`."""

import sys

from reward_profiling.simulate.main import main

sys.exit(main())
