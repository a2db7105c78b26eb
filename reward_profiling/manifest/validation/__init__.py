"""Checks that need more than the manifest: search roots, configs, datasets, the environment."""
