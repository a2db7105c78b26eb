"""What job.sh becomes: `python -m reward_profiling.launch.inside …`. Exit code 0: nothing is outstanding."""

import asyncio
import logging
import os
import sys

from reward_profiling.errors import RewardProfilingError
from reward_profiling.launch.exit_record import Reason
from reward_profiling.launch.inside.options import parse
from reward_profiling.launch.inside.supervise import supervise


def main() -> int:
    """Run the job that the command line describes."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    options = parse(sys.argv[1:])
    try:
        record = asyncio.run(supervise(options, os.environ))
    except RewardProfilingError as error:
        logging.error("%s", error)
        return error.exit_code
    return 0 if record.reason in {Reason.COMPLETE, Reason.NOTHING_OUTSTANDING} else 1


if __name__ == "__main__":
    sys.exit(main())
