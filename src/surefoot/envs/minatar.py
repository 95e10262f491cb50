"""MinAtar's five games (Young and Tian, 2019) in JAX, on the package pgx (extra `minatar`).

Every game has all six actions, sticky actions and difficulty that ramps up, and no time limit, except that
Freeway ends by its own rules. pgx has the rules; this module makes environments in JAX of them.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array, Bool
from numpy.typing import NDArray

from surefoot.envs import seaquest_corrections
from surefoot.errors import UserError
from surefoot.jit import jit_for_startup
from surefoot.types import Action, Environment, EnvironmentStep, RandomKey

CHANNELS = {
    "asterix": ("player", "enemy", "trail", "gold"),
    "breakout": ("paddle", "ball", "trail", "brick"),
    "freeway": ("chicken", "car", "speed 1", "speed 2", "speed 3", "speed 4", "speed 5"),
    "seaquest": (
        *("front of the submarine", "back of the submarine", "friendly bullet", "trail"),
        *("enemy bullet", "enemy fish", "enemy submarine", "oxygen", "divers aboard", "diver"),
    ),
    "space_invaders": (
        *("cannon", "alien", "alien going left", "alien going right"),
        *("friendly bullet", "enemy bullet"),
    ),
}
"""The games, and what each channel of a game's observations shows."""

ACTIONS = ("nothing", "left", "up", "right", "down", "fire")
SIDE = 10

State = dict[str, Array]
"""The fields of a game's state, by their names in pgx."""


class Rules(NamedTuple):
    """The rules of a game, as functions of pgx's own states."""

    init: Callable[[RandomKey], Any]
    step: Callable[[Any, Action, RandomKey], Any]
    observe: Callable[[Any], Array]
    state: Callable[..., Any]
    """From its fields, the state of an episode under way."""


@lru_cache
def make(game: str, *, sticky_action_prob: float = 0.1) -> Environment:
    """One of the games; with probability `sticky_action_prob` a step repeats the action before it."""
    rules = make_rules(game, sticky_action_prob)

    def reset(key: RandomKey) -> tuple[State, Array]:
        state = rules.init(key)
        return _fields(state), state.observation

    def step(state: State, action: Action, key: RandomKey) -> EnvironmentStep:
        after = rules.step(rules.state(**state), action, key)
        reward, never = after.rewards[0].astype(float), jnp.zeros((), bool)
        return EnvironmentStep(_fields(after), after.observation, reward, after.terminated, never, {})

    shape = (SIDE, SIDE, len(CHANNELS[game]))
    bits = Box(0, 1, shape, bool)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return Environment(reset, step, bits, Discrete(len(ACTIONS)))


@lru_cache
def make_rules(game: str, sticky_action_prob: float = 0.1) -> Rules:
    """The rules of a game as pgx has them, with corrections for Seaquest."""
    if game not in CHANNELS:
        raise UserError(f"game: got {game}, accepted: {', '.join(CHANNELS)}")
    if not 0 <= sticky_action_prob <= 1:
        raise UserError(f"sticky_action_prob: got {sticky_action_prob}, accepted: numbers from 0 to 1")
    # Imported here: pgx is an extra, and it makes arrays as soon as it is imported.
    if find_spec("pgx") is None:
        raise UserError(
            "env: MinAtar needs the package pgx, which is not installed: pip install 'surefoot[minatar]'"
        )
    is_seaquest = game == "seaquest"
    load = (
        seaquest_corrections.corrected_module
        if is_seaquest
        else partial(import_module, f"pgx.minatar.{game}")
    )
    # The first import may happen while a function is traced: the module's arrays must be values even then.
    with jax.ensure_compile_time_eval():
        module = load()
        pgx_game = getattr(module, "MinAtar" + game.title().replace("_", ""))(
            use_minimal_action_set=False, sticky_action_prob=sticky_action_prob
        )
    observe = seaquest_corrections.corrected_observe(pgx_game.observe) if is_seaquest else pgx_game.observe

    def init(key: RandomKey) -> Any:
        state = pgx_game.init(key)
        return seaquest_corrections.corrected_init(state) if is_seaquest else state

    def step(state: Any, action: Action, key: RandomKey) -> Any:
        after = pgx_game.step(state, action, key)
        return seaquest_corrections.corrected_step(state, after, observe) if is_seaquest else after

    return Rules(
        _promoting(init),
        _promoting(step),
        _promoting(observe),
        partial(module.State, legal_action_mask=pgx_game.legal_action_mask),
    )


def _promoting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that may mix dtypes and ranks, as pgx does, also where JAX is set to forbid that."""

    def call(*args: Any) -> Any:
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            return function(*args)

    return call


def _fields(state: Any) -> State:
    """The fields that the game itself needs; pgx's further fields are constant within an episode."""
    return {name: getattr(state, name) for name in state.__dataclass_fields__ if name.startswith("_")}


COLORS = np.array(
    [
        (248, 248, 242),
        (230, 97, 88),
        (92, 104, 122),
        (240, 190, 70),
        (110, 190, 230),
        (150, 210, 110),
        (200, 130, 210),
        (70, 130, 200),
        (250, 150, 60),
        (120, 220, 190),
    ],
    np.uint8,
)
"""One colour for each channel."""
BACKGROUND = (24, 26, 33)
CELL_PIXELS = 24


def make_render(game: str) -> Callable[[State], NDArray[np.uint8]]:
    """A function from a game's states to pictures of them, `[height, width, 3]`."""
    rules = make_rules(game)
    observe = jit_for_startup(lambda state: rules.observe(rules.state(**state)))
    return lambda state: render_observation(np.asarray(observe(state)))


def render_observation(obs: Bool[NDArray[Any], "side side channels"]) -> NDArray[np.uint8]:
    """An observation as a picture; where channels overlap, the later one is visible."""
    cells = np.empty((SIDE, SIDE, 3), np.uint8)
    cells[:] = BACKGROUND
    for channel in range(obs.shape[-1]):
        cells[obs[..., channel]] = COLORS[channel]
    return cells.repeat(CELL_PIXELS, axis=0).repeat(CELL_PIXELS, axis=1)
