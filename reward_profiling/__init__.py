"""Reward profiles of an RL training blend: which environments a checkpoint has saturated, and which still carry signal."""
