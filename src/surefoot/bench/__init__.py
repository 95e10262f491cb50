"""The benchmark: ours beside its peers, on one core, in one run."""
