"""A stand-in for NeMo Gym's collector, for demos, tests of failures and tests of scale.

Promise: it takes the `gym` calls that a job makes and keeps Gym's file contract (Gym contract 3.1-3.9), without
servers, policy or GPU. Outcomes are drawn from a seed. Every row it writes carries `"_simulated": true`.
"""
