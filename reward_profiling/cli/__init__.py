"""The `reward-profiling` command: parses, calls, prints. Exit codes: 0 done; 1 ran, but incomplete; 2 bad input."""
