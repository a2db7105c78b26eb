"""The data plane: task table, shard files, rollout index and completeness. Knows neither Dagster nor Slurm."""
