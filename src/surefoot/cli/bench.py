"""`surefoot bench`."""

import json as jsons
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from surefoot.bench import cartpole, checkpoints
from surefoot.bench.measure import Speed, pin_to_one_core
from surefoot.cli.exits import OK
from surefoot.runs.provenance import provenance
from surefoot.types import whole_number


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args
    return _command


def _command(
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None, rounds: int = 7, steps: int = 1_000
) -> Callable[[], int]:
    """Measure steps per second on one core, everything in turn; nothing else should run meanwhile.

    Args:
        json: Also write what was measured here.
        rounds: Turns of each contender.
        steps: Steps in a turn.
    """
    whole_number("--rounds", rounds, 1)
    whole_number("--steps", steps, 1)
    return lambda: _bench(json, rounds, steps)


def _bench(file: Path | None, rounds: int, steps: int) -> int:
    core = pin_to_one_core()
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("CartPole-v1, hosted", total=rounds)
        found = cartpole.run(steps=steps, rounds=rounds, after_round=lambda: progress.advance(task))
    peer = next((speed for speed in found.speeds if speed.name == cartpole.PEER), None)
    console.print(_table("CartPole-v1, hosted, one update per step", found.speeds, peer))
    if peer is None:
        console.print("the peer is not installed: pip install 'surefoot[bench]'", markup=False)
    ours = [speed for speed in found.speeds if speed != peer]
    costs = {speed.name: found.check_seconds * speed.steps_per_second for speed in ours}
    worst = max(costs, key=lambda name: costs[name])
    console.print(
        f"checking an answer of the environment: {found.check_seconds * 1e6:.1f} us, "
        f"at most {costs[worst]:.2%} of a step ({worst})"
    )
    costs_of_saving = [checkpoints.run(agent) for agent in ("uadqn", "qrdqn")]
    for cost in costs_of_saving:
        console.print(
            f"a checkpoint of {cost.agent} on MinAtar's sizes, replay full: {cost.seconds:.2f} s, "
            f"{cost.size / 2**20:.0f} MiB; every {checkpoints.INTERVAL:,} steps at "
            f"{cost.steps_per_second:,.0f} steps/s {cost.fraction:.1%} of wall time"
        )
    if file is not None:
        entry: dict[str, Any] = {
            "entry": "cartpole-hosted",
            "speeds": [
                {**speed._asdict(), "ratio": None if peer is None else speed.against(peer)}
                for speed in found.speeds
            ],
            "check_seconds": found.check_seconds,
            "check_fractions": costs,
        }
        saving = {
            "entry": "checkpoints",
            "costs": [{**cost._asdict(), "fraction": cost.fraction} for cost in costs_of_saving],
        }
        file.write_text(
            jsons.dumps({**provenance(), "core": core, "entries": [entry, saving]}, indent=2) + "\n"
        )
    return OK


def _table(title: str, speeds: list[Speed], peer: Speed | None) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("steps/s", justify="right")
    table.add_column("rounds", justify="right")
    table.add_column(f"times {cartpole.PEER}", justify="right")
    for speed in speeds:
        span = f"{min(speed.rounds):,.0f} to {max(speed.rounds):,.0f}"
        ratio = "" if peer is None else f"{speed.against(peer):.2f}"
        table.add_row(speed.name, f"{speed.steps_per_second:,.0f}", span, ratio)
    return table
