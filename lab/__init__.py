"""Real parts raised on one machine, for tests and for people: a Slurm cluster, a Gym environment, a policy server."""
