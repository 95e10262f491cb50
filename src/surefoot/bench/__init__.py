"""The benchmark: ours beside its peers."""
