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
from surefoot.agents import AGENTS
from surefoot.agents.base import Learning
from surefoot.agents.presets import PRESETS, preset_for, settings_of
from surefoot.cli.exit_codes import OK
from surefoot.cli.messages import errors_as_one_line, warnings_as_lines
from surefoot.envs.resolve import resolve_env
from surefoot.system.cores import pin_to
from surefoot.runs.directory import new_directory, summary_of
from surefoot.system.signals import stop_if_parent_dies
from surefoot.errors import UserError, require_whole_number

HOME = Path("runs")


@dataclass(frozen=True, kw_only=True)
class Train:
    """What to train, where, and how it is watched."""

    env: str
    """Gymnasium id; package.module:Id-v0 imports the module that registers it."""
    agent: str = "uadqn"
    """dqn, qrdqn, bootstrapped or uadqn."""
    steps: int = 50_000
    """Steps of the environment."""
    seed: int = 0
    """Of everything that is left to chance."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A new directory for the run; by default one in runs/."""
    env_kwargs: Annotated[str, tyro.conf.arg(metavar="JSON")] = "{}"
    """Parameters of the environment, as a JSON object."""
    preset: str | None = None
    """Settings for a kind of task: control or minatar; by default what suits the observations."""
    network: Annotated[str | None, tyro.conf.arg(metavar="NETWORK")] = None
    """mlp:64,64 (widths of layers) or minatar; by default what suits the observations."""
    normalise: bool = False
    """See vectors through their running mean and variance."""
    risk: Annotated[str | None, tyro.conf.arg(metavar="RISK")] = None
    """Attitude to risk: mean, or mean-sd:LAMBDA; --risk-aversion LAMBDA is short for it."""
    driver: Literal["auto", "compiled", "hosted"] = "auto"
    """Who drives the environment: JAX (Surefoot's own), or Gymnasium."""
    eval_every: int = 2_500
    """Steps between evaluations without exploring; the best model is kept. 0: never."""
    eval_episodes: int = 10
    """Episodes per evaluation."""
    log_every: int = 1_000
    """Steps between entries of the log."""
    checkpoint_every: int = 10_000
    """Steps between checkpoints; there is one every few minutes at least."""
    if_disk_full: Literal["stop", "continue"] = "stop"
    """What to do when there is no room for log or checkpoints."""
    probe: Annotated[str | None, tyro.conf.arg(metavar="MODULE:FUNCTION")] = None
    """A function of the model, called for each entry of the log; the numbers that it returns are logged."""
    core: int | None = None
    """Keep to this core of the machine."""
    attached: bool = False
    """Save and leave when standard input is closed, as by the end of the program that started this one."""

    def __post_init__(self) -> None:
        """Validate."""
        for name in ("steps", "eval_every", "eval_episodes", "log_every", "checkpoint_every"):
            least = 0 if name == "eval_every" else 1
            require_whole_number("--" + name.replace("_", "-"), getattr(self, name), least)


@dataclass(frozen=True, kw_only=True)
class _Peek:
    """What decides which other settings there are, and their defaults."""

    env: str | None = None
    agent: str = "uadqn"
    preset: str | None = None
    env_kwargs: str = "{}"
    core: int | None = None
    attached: bool = False


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command, with the settings of the agent that the arguments name and its preset's values."""
    if args[:1] == ["train"] and any(arg.startswith("--resume") for arg in args):
        return _resume_command
    settings = _defaults(args) if args[:1] == ["train"] else settings_of("uadqn", "control", {})

    def command(what: Any, settings: Any) -> Callable[[], int]:
        """Train an agent in an environment. The agent's settings depend on --agent, their defaults on --env.

        To go on with a run that was stopped: surefoot train --resume RUN [--steps N]

        Args:
            what: What to train.
            settings: The agent's own settings.
        """
        return lambda: train(what, settings)

    command.__annotations__["what"] = Annotated[Train, tyro.conf.arg(name="")]
    command.__annotations__["settings"] = Annotated[type(settings), tyro.conf.arg(name="")]
    command.__defaults__ = (settings,)
    return command


def _resume_command(
    resume: Annotated[Path, tyro.conf.arg(metavar="RUN")],
    steps: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
    core: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
    attached: bool = False,
) -> Callable[[], int]:
    """Go on with a run from its newest checkpoint, as if it had never been stopped.

    Args:
        resume: The run's directory.
        steps: Steps in all, to go on for longer than the run was meant to.
        core: Keep to this core of the machine.
        attached: Save and leave when standard input is closed.
    """

    def go_on() -> int:
        import_from_here()
        _settle(core, attached=attached)
        with warnings_as_lines():
            model.resume(resume, steps)
        _say(resume)
        return OK

    return go_on


def _defaults(args: Sequence[str]) -> AgentConfig:
    import_from_here()
    known = [arg for arg in args[1:] if arg not in {"--help", "-h"}]
    with errors_as_one_line(args):
        peek, _ = tyro.cli(_Peek, args=known, return_unknown_args=True, prog="surefoot train")
    _settle(peek.core, attached=peek.attached)
    if peek.agent not in AGENTS or (peek.preset is not None and peek.preset not in PRESETS):
        return settings_of(peek.agent, peek.preset or "control", {})  # Raises, saying what is accepted.
    preset = peek.preset
    if preset is None and peek.env is not None:
        place = resolve_env(peek.env, parameters_from(peek.env_kwargs))
        preset = preset_for(place.gym.observation_space)
        place.gym.close()
    return settings_of(peek.agent, preset or "control", {})


def _settle(core: int | None, *, attached: bool) -> None:
    """Pin and attach this process, before JAX starts its threads."""
    if core is not None:
        pin_to(core)
    if attached:
        stop_if_parent_dies()


def parameters_from(text: str) -> dict[str, Any]:
    """Parameters of an environment from JSON."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UserError(f"--env-kwargs: got {text}, accepted: a JSON object, such as '{{\"size\": 8}}'")
    return found


def import_from_here() -> None:
    """A module in the present directory can be imported, as with `python -m`."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def train(what: Train, settings: AgentConfig) -> int:
    """Train, keep the run on disk, and say how it went."""
    learner = model.MODELS[what.agent](
        what.env,
        network=what.network,
        preset=what.preset,
        normalise=what.normalise,
        seed=what.seed,
        env_kwargs=parameters_from(what.env_kwargs),
        driver=what.driver,
        risk=what.risk,
        **asdict(settings),
    )
    out = what.out or new_directory(HOME, f"{_slug(what.env)}-{what.agent}-seed{what.seed}")
    try:
        with warnings_as_lines():
            learner.learn(
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
        _leave_nothing_empty(out)
    _say(out)
    return OK


def _slug(env: str) -> str:
    return env.rsplit(":", 1)[-1].replace("/", "-")


def _leave_nothing_empty(out: Path) -> None:
    if out.is_dir() and not any(out.iterdir()):
        out.rmdir()


def _say(out: Path) -> None:
    run = summary_of(out)
    words = [f"{run.step:,} steps"]
    if run.episode_return is not None:
        words.append(f"mean return of the last episodes {run.episode_return:.4g}")
    if run.best is not None:
        words.append(f"best evaluation {run.best:.4g}")
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{out}: {', '.join(words)}", markup=False)
    console.print(f"play with it: surefoot evaluate {out}", markup=False)
