"""Sweeps, which are many runs of `surefoot train`: the plan, the ledger, the runner and its engines."""
