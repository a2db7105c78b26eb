"""The stand-in keeps the contract that NeMo Gym is held to in the gym lane."""

from reward_profiling_tests.collector_contract import CollectorContract


class TestStandIn(CollectorContract):
    """Every test of the contract, against the stand-in."""
