"""`surefoot bench`: the speed of training, compared with other libraries."""

import json
import math
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from surefoot.agents.presets import PRESETS
from surefoot.bench import (
    cartpole,
    checkpoint_cost,
    hardware_bound,
    hosted_cost,
    jax_peers,
    other_process,
    paper_release,
    sb3,
    scaling,
    startup,
    surefoot_agents,
)
from surefoot.bench.timing import (
    Contender,
    Speed,
    is_limited_to_one_core,
    measure_in_turns,
    restart_on_one_core,
)
from surefoot.cli.console import table_console
from surefoot.cli.exit_codes import OK
from surefoot.errors import require, require_whole_number
from surefoot.runs.provenance import provenance
from surefoot.system.cores import available_cores, pin_to

Part = Literal["minatar", "environments", "cartpole", "growth", "checkpoints", "startup"]
PARTS: tuple[Part, ...] = ("minatar", "environments", "cartpole", "growth", "checkpoints", "startup")

MANY_ENVS = 64
"""Environments side by side in the part on many environments."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What to measure."""

    only: tuple[Part, ...] = PARTS
    """Parts to measure; by default all."""
    released_code: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A checkout of IndustAI/risk-and-uncertainty, the released code of the paper, to be measured too."""
    before: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A checkout of an earlier revision of Surefoot, to be measured too."""
    peers: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path(".peers")
    """The environments of other libraries in JAX, as `make peers` installs them."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A file for the measurements, in JSON."""
    rounds: int = 7
    """Turns of each program that is measured."""
    seconds: float = 2.0
    """Length of a turn in seconds."""

    def __post_init__(self) -> None:
        """Validate."""
        require_whole_number("rounds", self.rounds, 1)
        require("seconds", self.seconds, 0 < self.seconds < math.inf, "finite numbers above 0")
        if self.released_code is not None:
            paper_release.require_checkout(self.released_code)
        if self.before is not None:
            other_process.sources_of(self.before)
        if self.json is not None:
            require("json", self.json, self.json.parent.is_dir(), "a file in a directory that exists")


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args
    return _command


def _command(what: Annotated[Bench, tyro.conf.arg(name="")]) -> Callable[[], int]:
    """Measure steps per second on one core, all programs in turns. Nothing else should run meanwhile."""
    return lambda: _bench(what)


def _bench(what: Bench) -> int:
    if not is_limited_to_one_core():
        restart_on_one_core(sys.argv[1:])
    cores = available_cores()
    core = cores[-1]
    pin_to(core)
    console = table_console(highlight=False)
    measurements = {
        "minatar": lambda: _minatar(what, console),
        "environments": lambda: _environments(what, console),
        "cartpole": lambda: _cartpole(what, console),
        "growth": lambda: _scaling(what, console, cores),
        "checkpoints": lambda: _checkpoints(console),
        "startup": lambda: _startup(console),
    }
    entries: dict[str, Any] = {}
    for part in PARTS:
        if part in what.only:
            entries[part] = measurements[part]()
            if what.json is not None:
                # After each part, so that no measurement is lost if a later part fails.
                contents = {**provenance(), "core": core, "rounds": what.rounds, "entries": entries}
                what.json.write_text(json.dumps(contents, indent=2) + "\n")
    return OK


@contextmanager
def _progress(title: str, turns: int) -> Generator[Callable[[], None]]:
    """A progress bar; call what it gives after each turn."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=turns)
        yield lambda: progress.advance(task)


def _measured(what: Bench, title: str, contenders: Sequence[Contender]) -> dict[str, Speed]:
    with _progress(title, len(contenders) * what.rounds) as after_turn:
        speeds = measure_in_turns(contenders, seconds=what.seconds, rounds=what.rounds, after_turn=after_turn)
    return {speed.name: speed for speed in speeds}


def _minatar(what: Bench, console: Console) -> dict[str, Any]:
    """Surefoot's agents, other libraries and the bound of the hardware, measured in turns."""
    work = {name: hardware_bound.work_of(name) for name in surefoot_agents.AGENT_NAMES}
    contenders = [
        *_compiled_agents(what.before),
        *(surefoot_agents.hosted_contender(name) for name in surefoot_agents.AGENT_NAMES),
        *(sb3.minatar() if sb3.is_installed("minatar") else ()),
        *(paper_release.contenders(what.released_code) if what.released_code is not None else ()),
        *(() if jax_peers.missing(what.peers, "rejax") else jax_peers.rejax(what.peers, _like_dqn())),
        *hardware_bound.contenders(work.values()),
    ]
    speeds = _measured(what, "MinAtar Breakout", contenders)
    compiled = {name: speeds[f"{name}, compiled"] for name in surefoot_agents.AGENT_NAMES}
    ratios: dict[str, tuple[Speed, Speed]] = {}
    for name, speed in compiled.items():
        ratios[f"{name}, hosted / compiled"] = speeds[f"{name}, hosted"], speed
        rivals = (jax_peers.REJAX, jax_peers.REJAX_UNIFORM) if name == "dqn" else ()
        for other in (sb3.PEERS.get(name), paper_release.label(name), f"{name}, before", *rivals):
            if other in speeds:
                ratios[f"{name}, compiled / {other}"] = speed, speeds[other]
    limits = {name: 1 / each.seconds(speeds) for name, each in work.items()}
    of_core = {*hardware_bound.PRODUCTS, *(each.memory for each in work.values())}
    shown = [speed for name, speed in speeds.items() if name not in of_core]
    console.print(_table("MinAtar Breakout, one update per step, replay of 100,000 full", shown))
    for name, (one, other) in ratios.items():
        low, high = one.ratio_quartiles(other)
        console.print(f"{name}: {one.ratio_to(other):.2f} (quartiles {low:.2f} to {high:.2f})")
    flops = hardware_bound.flop_rate(speeds)
    memory = {name: each.byte_rate(speeds) for name, each in work.items()}
    console.print(f"\nthis core: {flops / 1e9:.0f} GFLOP/s in products")
    for name, limit in limits.items():
        fraction = compiled[name].steps_per_second / limit
        console.print(
            f"bound of {name}: {2 * work[name].multiply_adds / 1e6:.0f} MFLOP and "
            f"{work[name].adam_bytes / 1e6:.1f} MB a step at {memory[name] / 1e9:.0f} GB/s, "
            f"{limit:,.0f} steps/s; Surefoot reaches {fraction:.0%} of it"
        )
    if not sb3.is_installed("minatar"):
        console.print("the other libraries are not installed: pip install 'surefoot[bench]'", markup=False)
    _name_missing(what, console, "rejax")
    return {
        "speeds": [speed._asdict() for speed in speeds.values()],
        "ratios": {name: one.ratio_to(other) for name, (one, other) in ratios.items()},
        "ratio_quartiles": {name: one.ratio_quartiles(other) for name, (one, other) in ratios.items()},
        "core": {"flops_per_second": flops, "bytes_per_second": memory},
        "bounds": {
            name: {**work[name]._asdict(), "steps_per_second": limit}
            | {"fraction": compiled[name].steps_per_second / limit}
            for name, limit in limits.items()
        },
    }


def _compiled_agents(before: Path | None) -> Iterator[Contender]:
    """The agents, each followed by that of an earlier revision: the closer two turns, the more alike.

    Each has a process of its own: where other libraries have filled the memory, all is slower.
    """
    for name in surefoot_agents.AGENT_NAMES:
        yield other_process.compiled_agent(name)
        if before is not None:
            yield other_process.compiled_agent(name, before)


def _like_dqn() -> dict[str, Any]:
    config = surefoot_agents.agent_settings("dqn")
    names = ["batch_size", "replay_capacity", "target_period", "learning_rate", "discount", "learning_starts"]
    return {name: getattr(config, name) for name in names}


def _name_missing(what: Bench, console: Console, library: str) -> None:
    if jax_peers.missing(what.peers, library):
        console.print(f"{library} is not installed in {what.peers}: {jax_peers.INSTALL}", markup=False)


def _environments(what: Bench, console: Console) -> dict[str, Any]:
    """UA-DQN with one environment, with many, and with the preset for speed."""
    many = {"envs": MANY_ENVS, "update_period": MANY_ENVS}
    settings: dict[str, dict[str, Any]] = {
        "1 environment, an update per step": {},
        f"{MANY_ENVS} environments, an update per {MANY_ENVS} steps": many,
        "preset fast": PRESETS["fast"].common,
    }
    contenders = [
        surefoot_agents.compiled_contender("uadqn", label, **overrides)
        for label, overrides in settings.items()
    ]
    speeds = list(_measured(what, "many environments", contenders).values())
    console.print(_table("UA-DQN on MinAtar Breakout, several environments", speeds, speeds[0]))
    return {"speeds": [{**speed._asdict(), "ratio": speed.ratio_to(speeds[0])} for speed in speeds]}


def _cartpole(what: Bench, console: Console) -> dict[str, Any]:
    speeds = _measured(what, "CartPole-v1, hosted", cartpole.contenders(what.peers))
    peer = speeds.get(sb3.PEERS["qrdqn"])
    console.print(_table("CartPole-v1, hosted, one update per step", list(speeds.values()), peer))
    if jax_peers.SBX in speeds:
        ratio = speeds["Surefoot dqn"].ratio_to(speeds[jax_peers.SBX])
        console.print(f"Surefoot dqn / {jax_peers.SBX}: {ratio:.2f}")
    _name_missing(what, console, "sbx")
    check = cartpole.seconds_per_check()
    costs = {
        name: check * speed.steps_per_second for name, speed in speeds.items() if name.startswith("Surefoot")
    }
    worst = max(costs, key=lambda name: costs[name])
    console.print(
        f"checking a response of the environment: {check * 1e6:.1f} us, "
        f"at most {costs[worst]:.2%} of a step ({worst})"
    )
    hosted = [hosted_cost.run(name) for name in surefoot_agents.AGENT_NAMES]
    for cost in hosted:
        step, environment, learning, overhead = (
            1e6 * each for each in (cost.step, cost.environment, cost.learning, cost.overhead)
        )
        console.print(
            f"a hosted step of {cost.agent}: {step:.0f} us; environment {environment:.0f}, "
            f"learning {learning:.0f}, all else {overhead:.0f}"
        )
    return {
        "speeds": [
            {**speed._asdict(), "ratio": None if peer is None else speed.ratio_to(peer)}
            for speed in speeds.values()
        ],
        "hosted": [{**cost._asdict(), "overhead": cost.overhead} for cost in hosted],
        "check_seconds": check,
        "check_fractions": costs,
    }


def _scaling(what: Bench, console: Console, cores: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for setting, values in scaling.VARIED_SETTINGS.items():
        with _progress(f"step time by {setting}", len(values) * what.rounds) as after_turn:
            speeds = scaling.run(setting, seconds=what.seconds, rounds=what.rounds, after_turn=after_turn)
        costs = {speed.name: speeds[0].ratio_to(speed) for speed in speeds}
        console.print(f"{setting}, time of a step: " + ", ".join(f"{k} {v:.2f}" for k, v in costs.items()))
        found[setting] = {"speeds": [speed._asdict() for speed in speeds], "step_time": costs}
    both = scaling.two_processes(cores, seconds=what.seconds, rounds=what.rounds)
    if both is not None:
        console.print(
            f"two processes on two cores: {both.ratio:.2f} times the steps of one "
            f"({both.together:,.0f} against {both.alone:,.0f} steps/s)"
        )
        found["two_processes"] = both._asdict()
    return found


def _checkpoints(console: Console) -> dict[str, Any]:
    costs = [checkpoint_cost.run(agent) for agent in ("uadqn", "qrdqn")]
    for cost in costs:
        console.print(
            f"a checkpoint of {cost.agent} on MinAtar with a full replay: {cost.seconds:.2f} s, "
            f"{cost.size / 2**20:.0f} MiB; every {checkpoint_cost.INTERVAL:,} steps at "
            f"{cost.steps_per_second:,.0f} steps/s that is {cost.fraction:.1%} of wall time"
        )
    return {"costs": [{**cost._asdict(), "fraction": cost.fraction} for cost in costs]}


def _startup(console: Console) -> dict[str, Any]:
    cost = startup.run()
    console.print(
        f"surefoot train on MinAtar: first update after {cost.cold_seconds:.1f} s, "
        f"with compiled programs in the cache after {cost.cached_seconds:.1f} s; "
        f"peak memory {cost.resident_bytes / 1e6:.0f} MB"
    )
    return cost._asdict()


def _table(title: str, speeds: list[Speed], peer: Speed | None = None) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("steps/s", justify="right")
    table.add_column("rounds", justify="right")
    if peer is not None:
        table.add_column(f"times {peer.name}", justify="right")
    for speed in speeds:
        span = f"{min(speed.rounds):,.0f} to {max(speed.rounds):,.0f}"
        ratio = () if peer is None else (f"{speed.ratio_to(peer):.2f}",)
        table.add_row(speed.name, f"{speed.steps_per_second:,.0f}", span, *ratio)
    return table
