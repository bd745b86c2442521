"""The `rami` command: start a cluster, play on it, watch it, and check what was played."""
