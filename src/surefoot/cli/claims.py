"""Claims and their verdicts on the terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from surefoot.claims import Claim, Verdict
from surefoot.cli.exit_codes import CLAIM_NOT_MET, OK
from surefoot.types import Interval

COLORS = {Verdict.HOLDS: "green", Verdict.FAILS: "red", Verdict.UNDECIDED: "yellow"}

TABLE_WIDTH = 100
"""The width that the table of claims needs, in characters; on a narrower terminal, claims are a list."""


def print_claims(console: Console, claims: Sequence[Claim], without_interval: str) -> None:
    """Print claims; `without_interval` says why a claim has none."""
    show = _table if console.width >= TABLE_WIDTH else _list
    console.print(show(claims, without_interval))


def exit_code(claims: Sequence[Claim], *, strict: bool) -> int:
    """The exit code of a command that checked claims."""
    all_hold = all(each.verdict == Verdict.HOLDS for each in claims)
    return CLAIM_NOT_MET if strict and not all_hold else OK


def _table(claims: Sequence[Claim], without_interval: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("claim")
    for name in ("measured", "interval", "holds if", "verdict"):
        table.add_column(name, no_wrap=True)
    for each in claims:
        interval = _interval_text(each.interval, without_interval)
        table.add_row(each.name, f"{each.measured:.3g}", interval, each.criterion, _verdict_text(each))
    return table


def _list(claims: Sequence[Claim], without_interval: str) -> str:
    return "\n".join(
        f"{_verdict_text(each)}: {each.name}\n"
        f"    {each.measured:.3g} ({_interval_text(each.interval, without_interval)}), "
        f"holds if {each.criterion}"
        for each in claims
    )


def _verdict_text(claim: Claim) -> str:
    return f"[{COLORS[claim.verdict]}]{claim.verdict}[/]"


def _interval_text(interval: Interval | None, without: str) -> str:
    if interval is None:
        return without
    return " to ".join(f"{end:.3g}" for end in interval)
