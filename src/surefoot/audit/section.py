"""A part of an audit: one question, what was measured, the verdicts, and a picture."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from surefoot.claims import Claim
from surefoot.statistics import Estimate


class Section(NamedTuple):
    """One question and its answers."""

    name: str
    """For files."""
    title: str
    text: tuple[str, ...] = ()
    """How it was measured, and how to read it."""
    rows: Mapping[str, Estimate] = {}
    """Measurements by name, with intervals that resample whole episodes."""
    claims: tuple[Claim, ...] = ()
    figure: Figure | None = None
    not_applicable: tuple[str, ...] = ()
    """What could not be measured, and why."""
    data: Mapping[str, Any] = {}
    """Further plain data for audit.json."""
