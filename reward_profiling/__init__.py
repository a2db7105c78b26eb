"""Reward profiles of an RL training blend: what a checkpoint has saturated, and what still carries signal."""
