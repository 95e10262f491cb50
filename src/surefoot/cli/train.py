"""`surefoot train`."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console

from surefoot import model
from surefoot.agents import AGENTS, DEFAULT_AGENT
from surefoot.agents.base import AgentConfig
from surefoot.agents.presets import PRESETS, THOMPSON_EXPLORERS, preset_for, resolve_settings
from surefoot.cli.exit_codes import OK
from surefoot.cli.messages import errors_as_one_line, require_one_risk, warnings_as_lines
from surefoot.envs.resolve import resolve_env
from surefoot.errors import UserError, require, require_whole_number
from surefoot.registry import is_import_path
from surefoot.runs.directory import new_directory, summary_of
from surefoot.runs.schedule import AUTO
from surefoot.system.cores import pin_to
from surefoot.system.signals import stop_if_parent_dies

RUNS_DIRECTORY = Path("runs")


@dataclass(frozen=True, kw_only=True)
class Train:
    """What to train, where, and what to log, evaluate and save."""

    env: str
    """Gymnasium id; package.module:Id-v0 imports the module that registers it."""
    agent: Annotated[str, tyro.conf.arg(help=f"The agent: {AGENTS.accepted}.")] = DEFAULT_AGENT
    steps: int = 50_000
    """Steps of the environment."""
    seed: int = 0
    """Seed of all random numbers: two runs with the same seed are alike."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A new directory for the run; by default one in runs/."""
    env_kwargs: Annotated[str, tyro.conf.arg(metavar="JSON")] = "{}"
    """Keyword arguments of the environment, as a JSON object."""
    preset: Annotated[str | None, tyro.conf.arg(metavar="PRESET")] = None
    """Settings: control or minatar, by default what suits the observations, or calibrated, which changes what
    suits so that both uncertainties are right."""
    network: Annotated[str | None, tyro.conf.arg(metavar="NETWORK")] = None
    """mlp:64,64 (widths of layers), minatar, or package.module:function; by default what suits."""
    optimiser: Annotated[str | None, tyro.conf.arg(metavar="OPTIMISER")] = None
    """adam, or package.module:name of an Optax transformation or of a function of the learning rate."""
    normalise: bool = False
    """Normalise vectors by their running mean and variance."""
    risk_aversion: Annotated[float | None, tyro.conf.arg(metavar="LAMBDA")] = None
    """Aleatoric standard deviations taken off an action's mean; short for --risk mean-sd:LAMBDA."""
    driver: Literal["auto", "compiled", "hosted"] = "auto"
    """compiled with the agent (environments in JAX), or hosted: stepped through Gymnasium."""
    eval_every: Annotated[int | Literal["auto"], tyro.conf.arg(metavar="INT|auto")] = AUTO
    """Steps between evaluations without exploring; the best model is saved. auto: as often as it costs about
    a tenth of the time, and at the end. 0: never."""
    eval_episodes: int = 10
    """Episodes per evaluation."""
    log_every: int = 1_000
    """Steps between entries of the log."""
    checkpoint_every: int = 10_000
    """Steps between checkpoints; there is one every five minutes at least."""
    if_disk_full: Literal["stop", "continue"] = "stop"
    """What to do when the disk is too full for the log or a checkpoint."""
    probe: Annotated[str | None, tyro.conf.arg(metavar="MODULE:FUNCTION")] = None
    """A function of the model, called for each entry of the log; the numbers that it returns are logged."""
    core: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Run on this core of the machine only."""
    attached: bool = False
    """Save and exit when standard input is closed, as by the end of the program that started this one."""

    def __post_init__(self) -> None:
        """Validate."""
        for name in ("steps", "eval_episodes", "log_every", "checkpoint_every"):
            require_whole_number(name, getattr(self, name), 1)
        if self.eval_every != AUTO:
            require_whole_number("eval_every", self.eval_every, 0)


@dataclass(frozen=True, kw_only=True)
class _Peek:
    """The arguments that decide which other settings there are, and their defaults."""

    env: str | None = None
    agent: str = DEFAULT_AGENT
    preset: str | None = None
    env_kwargs: str = "{}"
    posterior: str | None = None
    explorer: str | None = None
    risk: str | None = None
    risk_aversion: float | None = None
    core: int | None = None
    attached: bool = False


def normalised_arguments(args: Sequence[str]) -> list[str]:
    """The arguments with `--thompson` of version 0.1 by its name of today, and help for `--resume` alone."""
    found = [word for arg in args for word in (arg.split("=") if arg.startswith("--thompson=") else [arg])]
    if "--thompson" in found:
        where = found.index("--thompson")
        duration = "".join(found[where + 1 : where + 2])
        accepted = f"{', '.join(THOMPSON_EXPLORERS)} (--explorer is its new name)"
        require("--thompson", duration, duration in THOMPSON_EXPLORERS, accepted)
        found[where : where + 2] = ["--explorer", THOMPSON_EXPLORERS[duration]]
    if "--resume" in found and {"--help", "-h"} & set(found):
        return ["train", "--resume", "RUN", "--help"]
    return found


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command, with the settings of the agent that the arguments name and its preset's values."""
    if any(arg.split("=")[0] == "--resume" for arg in args):
        return _resume_command
    defaults = _default_settings(args)

    def command(what: Any, settings: Any = defaults) -> Callable[[], int]:
        """Train an agent in an environment.

        Args:
            what: What to train.
            settings: The agent's own settings.
        """
        return lambda: train(what, settings)

    command.__annotations__["what"] = Annotated[Train, tyro.conf.arg(name="")]
    command.__annotations__["settings"] = Annotated[type(defaults), tyro.conf.arg(name="")]
    return command


def _resume_command(
    resume: Annotated[Path, tyro.conf.arg(metavar="RUN")],
    steps: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
    core: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
    attached: bool = False,
) -> Callable[[], int]:
    """Continue a run from its newest checkpoint, as if it had never been stopped.

    Args:
        resume: The run's directory.
        steps: Steps in all, to train for longer than was planned.
        core: Run on this core of the machine only.
        attached: Save and exit when standard input is closed.
    """

    def go_on() -> int:
        import_from_working_directory()
        _set_up_process(core, attached=attached)
        with warnings_as_lines():
            model.resume(resume, steps)
        _print_summary(resume)
        return OK

    return go_on


def _default_settings(args: Sequence[str]) -> AgentConfig:
    """The default settings of the agent, its posterior and its explorer in the environment that are named."""
    import_from_working_directory()
    known = [arg for arg in args[1:] if arg not in {"--help", "-h"}]
    with errors_as_one_line([]):
        peek, _ = tyro.cli(_Peek, args=known, return_unknown_args=True, prog="surefoot train")
    _set_up_process(peek.core, attached=peek.attached)
    require_one_risk(peek.risk, peek.risk_aversion)
    parts = {"posterior": peek.posterior, "explorer": peek.explorer}
    given = {name: value for name, value in parts.items() if value is not None}
    # An unknown name is refused before the environment is made.
    settings = resolve_settings(peek.agent, peek.preset or next(iter(PRESETS)), given)
    if peek.env is None:
        return settings
    handle = resolve_env(peek.env, parse_env_kwargs(peek.env_kwargs))
    space = handle.gym.observation_space
    handle.gym.close()
    return resolve_settings(peek.agent, peek.preset or preset_for(space), given, space)


def _set_up_process(core: int | None, *, attached: bool) -> None:
    """Pin and attach this process, before JAX starts its threads."""
    if core is not None:
        pin_to(core)
    if attached:
        stop_if_parent_dies()


def parse_env_kwargs(text: str) -> dict[str, Any]:
    """Keyword arguments of an environment from JSON."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UserError(f"env_kwargs: got {text}, accepted: a JSON object, such as '{{\"size\": 8}}'")
    return found


def import_from_working_directory() -> None:
    """Make modules in the working directory importable, as `python -m` does."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def train(what: Train, settings: AgentConfig) -> int:
    """Train, write the run to disk, and print how it went."""
    given = asdict(settings)
    if what.risk_aversion is not None:
        given |= {"risk": None, "risk_aversion": what.risk_aversion}
    trained = model.model_class(what.agent)(
        what.env,
        network=what.network,
        optimiser=what.optimiser,
        preset=what.preset,
        normalise=what.normalise,
        seed=what.seed,
        env_kwargs=parse_env_kwargs(what.env_kwargs),
        driver=what.driver,
        **given,
    )
    agent = AGENTS.resolve(what.agent).class_name if is_import_path(what.agent) else what.agent
    name = f"{_slug(what.env)}-{agent}-seed{what.seed}"
    out = what.out or new_directory(RUNS_DIRECTORY, name)
    try:
        with warnings_as_lines():
            trained.learn(
                what.steps,
                out=out,
                log_every=what.log_every,
                eval_every=what.eval_every or None,
                eval_episodes=what.eval_episodes,
                checkpoint_every=what.checkpoint_every,
                if_disk_full=what.if_disk_full,
                probe=what.probe,
            )
    finally:
        _remove_if_empty(out)
    _print_summary(out)
    return OK


def _slug(name: str) -> str:
    return name.rsplit(":", 1)[-1].replace("/", "-")


def _remove_if_empty(out: Path) -> None:
    if out.is_dir() and not any(out.iterdir()):
        out.rmdir()


def _print_summary(out: Path) -> None:
    run = summary_of(out)
    words = [f"{run.step:,} steps"]
    if run.episode_return is not None:
        words.append(f"mean return of the latest episodes {run.episode_return:.4g}")
    if run.best is not None:
        words.append(f"best evaluation {run.best:.4g}")
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{out}: {', '.join(words)}", markup=False)
    console.print(f"play with it: surefoot evaluate {out}", markup=False)
