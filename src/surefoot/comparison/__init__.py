"""Comparing groups of runs: which are the same but for their seeds, and which of the groups is better."""

from surefoot.comparison.compare_runs import compare
from surefoot.comparison.result import Comparison

__all__ = ["Comparison", "compare"]
