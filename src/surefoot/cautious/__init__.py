"""Handing over: an agent that leaves the decision to a fallback where it has not learned enough."""

from surefoot.cautious.playing import Playthrough
from surefoot.cautious.policy import Cautious
from surefoot.cautious.thresholds import Thresholds

__all__ = ["Cautious", "Playthrough", "Thresholds"]
