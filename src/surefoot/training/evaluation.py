"""Evaluation: episodes without exploring.

Environments in JAX play all episodes of an evaluation side by side in one compiled program. The episodes are
those that the same seeds give through Gymnasium.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree
from numpy.typing import NDArray

from surefoot.envs.as_gymnasium import episode_key, key_at
from surefoot.envs.checked import CheckedEnv, boolean_entries
from surefoot.jit import jit_for_speed, jit_for_startup
from surefoot.program_cache import cached_program
from surefoot.risk import NamedRiskMeasure
from surefoot.training.driver import Stop, never_stop
from surefoot.training.episode_seeds import episode_seed
from surefoot.training.inference import Decision, Predictor, decision_of
from surefoot.training.step import tree_where
from surefoot.types import Agent, Environment

MAX_EPISODE_STEPS = 27_000
"""Steps after which an evaluated episode is cut off: half an hour of an Atari game, as is usual there."""
MAX_SIDE_BY_SIDE = 16
"""Episodes that one program plays at once."""
STEPS_PER_CALL = 250
"""Steps between two looks at whether to stop."""


class Evaluation(NamedTuple):
    """The returns and lengths of some episodes."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    cut_off: NDArray[np.bool_]
    """Which episodes had not ended after the largest number of steps."""
    events: dict[str, NDArray[np.int64]]
    """For each boolean entry of the environment's `info`, such as `fell`: at how many steps of each episode
    it was true."""

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())


class Episodes(NamedTuple):
    """Which episodes are played, and how."""

    total: int
    seed: int
    stream: int
    first: int = 0
    """The number of the first one in its stream of seeds."""
    max_steps: int = MAX_EPISODE_STEPS

    def seed_of(self, index: int) -> int:
        """The seed of one of them."""
        return episode_seed(self.seed, self.stream, self.first + index)


class Player(NamedTuple):
    """Who plays: an agent with fixed parameters under a risk measure, or its own policy if that is None."""

    agent: Agent
    predictor: Predictor
    params: PyTree
    step: int
    """Steps of training behind the parameters."""
    risk: NamedRiskMeasure | None = None


def evaluate_hosted(
    player: Player,
    env: CheckedEnv,
    episodes: Episodes,
    *,
    after_episode: Callable[[], None] = lambda: None,
    stop: Stop = never_stop,
) -> Evaluation | None:
    """Play episodes in a Gymnasium environment, one after the other; None after a stop."""
    found = _empty(episodes.total)
    for index in range(episodes.total):
        number = episodes.first + index
        act = player.predictor.episode_policy(player.params, player.step, player.risk, number)
        obs, done = env.reset(episodes.seed_of(index)), False
        while not done and found.lengths[index] < episodes.max_steps:
            if stop():
                return None
            step = env.step(act(obs, int(found.lengths[index])))
            obs, done = step.obs, step.terminated or step.truncated
            found.returns[index] += step.reward
            for name, value in boolean_entries(step.info).items():
                found.events.setdefault(name, np.zeros(episodes.total, np.int64))[index] += value
            found.lengths[index] += 1
        found.cut_off[index] = not done
        after_episode()
    return found


def _empty(count: int) -> Evaluation:
    return Evaluation(np.zeros(count), np.zeros(count, np.int64), np.zeros(count, bool), {})


class Lanes(NamedTuple):
    """Episodes that are played side by side, along the first axis."""

    env_state: PyTree
    obs: Array
    done: Array
    returns: Array
    lengths: Array
    events: dict[str, Array]


class EvaluationPrograms(NamedTuple):
    """Compiled evaluation."""

    reset: Callable[..., Lanes]
    advance: Callable[..., Lanes]


def evaluate_compiled(
    player: Player,
    environment: Environment,
    episodes: Episodes,
    *,
    after_episode: Callable[[], None] = lambda: None,
    stop: Stop = never_stop,
) -> Evaluation | None:
    """Play episodes in an environment in JAX, side by side; None after a stop."""
    decision, numbers = decision_of(player.agent, player.risk)
    programs = _programs(decision, environment)
    side_by_side = min(episodes.total, MAX_SIDE_BY_SIDE)
    found = _empty(episodes.total)
    for start in range(0, episodes.total, side_by_side):
        # The last batch may reach beyond the end: its surplus episodes are played and not counted.
        lanes = range(start, start + side_by_side)
        counted = min(side_by_side, episodes.total - start)
        env_keys = np.stack([episode_key(episodes.seed_of(lane)) for lane in lanes])
        act_keys = np.stack(
            [player.predictor.evaluation_key(player.step, episodes.first + lane) for lane in lanes]
        )
        state, time, ended = programs.reset(env_keys), 0, 0
        while ended < counted and time < episodes.max_steps:
            if stop():
                return None
            until = min(time + STEPS_PER_CALL, episodes.max_steps)
            state = programs.advance(
                player.params, state, env_keys, act_keys, numbers, np.int32(time), np.int32(until)
            )
            time = until
            newly_ended = int(np.sum(np.asarray(state.done)[:counted])) - ended
            ended += newly_ended
            for _ in range(newly_ended):
                after_episode()
        for _ in range(counted - ended):
            after_episode()
        where = slice(start, start + counted)
        found.returns[where] = np.asarray(state.returns, float)[:counted]
        found.lengths[where] = np.asarray(state.lengths)[:counted]
        found.cut_off[where] = ~np.asarray(state.done)[:counted]
        for name, counts in state.events.items():
            of_all = found.events.setdefault(name, np.zeros(episodes.total, np.int64))
            of_all[where] = np.asarray(counts)[:counted]
    return found


@cached_program
def _programs(decision: Decision, environment: Environment) -> EvaluationPrograms:
    def reset(env_key: Array) -> Lanes:
        env_state, obs = environment.reset(key_at(env_key, 0))
        example = jax.eval_shape(environment.step, env_state, jnp.zeros((), jnp.int32), jax.random.key(0))
        none = jnp.zeros((), jnp.int32)
        events = {name: none for name, value in example.info.items() if value.dtype == bool}
        return Lanes(env_state, obs, jnp.zeros((), bool), jnp.zeros((), float), none, events)

    def step(params: PyTree, lane: Lanes, env_key: Array, act_key: Array, numbers: Any, time: Any) -> Lanes:
        _, action = decision(params, lane.obs, key_at(act_key, time), numbers)
        found = environment.step(lane.env_state, action, key_at(env_key, time + 1))
        after = Lanes(
            found.state,
            found.obs,
            found.terminated | found.truncated,
            lane.returns + found.reward,
            lane.lengths + 1,
            {name: count + found.info[name].astype(count.dtype) for name, count in lane.events.items()},
        )
        return tree_where(lane.done, lane, after)

    step_all = jax.vmap(step, in_axes=(None, 0, 0, 0, None, None))

    def advance(
        params: PyTree, lanes: Lanes, env_keys: Array, act_keys: Array, numbers: Any, time: Any, until: Any
    ) -> Lanes:
        def goes_on(carry: tuple[Any, Lanes]) -> Any:
            return (carry[0] < until) & ~jnp.all(carry[1].done)

        def one_step(carry: tuple[Any, Lanes]) -> tuple[Any, Lanes]:
            time, lanes = carry
            return time + 1, step_all(params, lanes, env_keys, act_keys, numbers, time)

        return jax.lax.while_loop(goes_on, one_step, (time, lanes))[1]

    return EvaluationPrograms(jit_for_startup(jax.vmap(reset)), jit_for_speed(advance))
