"""The launch plane: from a shard to a running job, and from what is seen of it to what happens next."""
