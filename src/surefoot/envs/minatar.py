"""MinAtar's five games (Young and Tian, 2019), as pgx has them in JAX.

All six actions in every game, sticky actions, difficulty that ramps up, no time limit beside Freeway's own.
The games' rules are pgx's, a package of its own (extra `minatar`); here they meet our contract.
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

from surefoot.jit import jit_for_startup
from surefoot.envs import seaquest
from surefoot.errors import UserError
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
"""The games, and what each channel of their observations shows."""

ACTIONS = ("nothing", "left", "up", "right", "down", "fire")
SIDE = 10

State = dict[str, Array]
"""A game's own fields, by pgx's names."""


class Rules(NamedTuple):
    """A game as pgx plays it, on states of pgx's."""

    init: Callable[[RandomKey], Any]
    step: Callable[[Any, Action, RandomKey], Any]
    observe: Callable[[Any], Array]
    state: Callable[..., Any]
    """Makes a state of an episode under way from its fields."""


@lru_cache
def make(game: str, *, sticky_action_prob: float = 0.1) -> Environment:
    """One of the games. With some probability, an action is the one before it instead."""
    rules = rules_of(game, sticky_action_prob)

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
def rules_of(game: str, sticky_action_prob: float = 0.1) -> Rules:
    """A game's rules, Seaquest's corrected."""
    if game not in CHANNELS:
        raise UserError(f"game: got {game}, accepted: {', '.join(CHANNELS)}")
    if not 0 <= sticky_action_prob <= 1:
        raise UserError(f"sticky_action_prob: got {sticky_action_prob}, accepted: numbers from 0 to 1")
    # Imported here: it is an extra, and it makes arrays as soon as it is imported.
    if find_spec("pgx") is None:
        raise UserError("MinAtar needs pgx, accepted: pip install 'surefoot[minatar]'")
    is_seaquest = game == "seaquest"
    module = seaquest.corrected_module() if is_seaquest else import_module(f"pgx.minatar.{game}")
    theirs = getattr(module, "MinAtar" + game.title().replace("_", ""))(
        use_minimal_action_set=False, sticky_action_prob=sticky_action_prob
    )

    observe = seaquest.corrected_observe(theirs.observe) if is_seaquest else theirs.observe

    def init(key: RandomKey) -> Any:
        state = theirs.init(key)
        return seaquest.corrected_start(state) if is_seaquest else state

    def step(state: Any, action: Action, key: RandomKey) -> Any:
        after = theirs.step(state, action, key)
        return seaquest.corrected_step(state, after, observe) if is_seaquest else after

    return Rules(
        _promoting(init),
        _promoting(step),
        _promoting(observe),
        partial(module.State, legal_action_mask=theirs.legal_action_mask),
    )


def _promoting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Pgx mixes types and ranks, which strict promotion forbids."""

    def call(*args: Any) -> Any:
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            return function(*args)

    return call


def _fields(state: Any) -> State:
    """What a game needs to go on: pgx's own fields say nothing more while an episode lasts."""
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
"""One a channel."""
BACKGROUND = (24, 26, 33)
CELL_PIXELS = 24


def painter(game: str) -> Callable[[State], NDArray[np.uint8]]:
    """Makes pictures of a game's states, `[height, width, 3]`."""
    rules = rules_of(game)
    observe = jit_for_startup(lambda state: rules.observe(rules.state(**state)))
    return lambda state: picture_of(np.asarray(observe(state)))


def picture_of(obs: Bool[NDArray[Any], "side side channels"]) -> NDArray[np.uint8]:
    """An observation in colours; where channels overlap, the later one shows."""
    cells = np.empty((SIDE, SIDE, 3), np.uint8)
    cells[:] = BACKGROUND
    for channel in range(obs.shape[-1]):
        cells[obs[..., channel]] = COLORS[channel]
    return cells.repeat(CELL_PIXELS, axis=0).repeat(CELL_PIXELS, axis=1)
