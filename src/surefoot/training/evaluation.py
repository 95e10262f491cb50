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
from surefoot.envs.budget import with_place
from surefoot.envs.checked import CheckedEnv, boolean_entries
from surefoot.jit import jit_for_speed, jit_for_startup
from surefoot.program_cache import cached_program
from surefoot.risk import MEAN, NamedRiskMeasure
from surefoot.risk.realised import RiskOutcome
from surefoot.training.driver import Stop, never_stop
from surefoot.training.episode_seeds import episode_seed
from surefoot.training.inference import Decision, Predictor, place_of_best_budget
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
    risk: RiskOutcome | None = None
    """What the attitude to risk that was acted by promised, and what came of it."""

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
    own_risk: NamedRiskMeasure = MEAN
    """The measure of its own policy."""
    discount: float = 1.0
    """That of its beliefs."""


def evaluate_hosted(
    player: Player,
    env: CheckedEnv,
    episodes: Episodes,
    *,
    after_episode: Callable[[], None] = lambda: None,
    stop: Stop = never_stop,
) -> Evaluation | None:
    """Play episodes in a Gymnasium environment, one after the other; None after a stop."""
    found = _empty(player, episodes.total)
    for index in range(episodes.total):
        number = episodes.first + index
        act = player.predictor.episode_policy(player.params, player.step, player.risk, number)
        obs, done, weight = env.reset(episodes.seed_of(index)), False, 1.0
        found.risk.believed[index] = player.predictor.believed_value(
            player.params, player.step, player.risk, number, obs
        )
        while not done and found.lengths[index] < episodes.max_steps:
            if stop():
                return None
            step = env.step(act(obs, int(found.lengths[index])))
            obs, done = step.obs, step.terminated or step.truncated
            found.returns[index] += step.reward
            found.risk.discounted_returns[index] += weight * step.reward
            weight *= player.discount
            for name, value in boolean_entries(step.info).items():
                found.events.setdefault(name, np.zeros(episodes.total, np.int64))[index] += value
            found.lengths[index] += 1
        found.cut_off[index] = not done
        after_episode()
    return found


def _empty(player: Player, count: int) -> Any:
    """The results of episodes that are still to be played."""
    risk = RiskOutcome(player.risk or player.own_risk, player.discount, np.zeros(count), np.zeros(count))
    return Evaluation(np.zeros(count), np.zeros(count, np.int64), np.zeros(count, bool), {}, risk)


class Lanes(NamedTuple):
    """Episodes that are played side by side, along the first axis."""

    env_state: PyTree
    obs: Array
    done: Array
    returns: Array
    lengths: Array
    events: dict[str, Array]
    believed: Array
    """The value of the first action."""
    discounted_returns: Array
    weight: Array
    """That of the next reward in the discounted return."""


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
    decision, numbers = player.predictor.decision(player.params, player.risk)
    programs = _programs(decision, environment)
    side_by_side = min(episodes.total, MAX_SIDE_BY_SIDE)
    found = _empty(player, episodes.total)
    discount = np.asarray(player.discount, jax.dtypes.canonicalize_dtype(float))
    for start in range(0, episodes.total, side_by_side):
        # The last batch may reach beyond the end: its surplus episodes are played and not counted.
        lanes = range(start, start + side_by_side)
        counted = min(side_by_side, episodes.total - start)
        env_keys = np.stack([episode_key(episodes.seed_of(lane)) for lane in lanes])
        act_keys = np.stack(
            [player.predictor.evaluation_key(player.step, episodes.first + lane) for lane in lanes]
        )
        state, time, ended = programs.reset(player.params, env_keys, act_keys), 0, 0
        while ended < counted and time < episodes.max_steps:
            if stop():
                return None
            until = min(time + STEPS_PER_CALL, episodes.max_steps)
            state = programs.advance(
                player.params, state, env_keys, act_keys, numbers, discount, np.int32(time), np.int32(until)
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
        found.risk.believed[where] = np.asarray(state.believed, float)[:counted]
        found.risk.discounted_returns[where] = np.asarray(state.discounted_returns, float)[:counted]
        found.cut_off[where] = ~np.asarray(state.done)[:counted]
        for name, counts in state.events.items():
            of_all = found.events.setdefault(name, np.zeros(episodes.total, np.int64))
            of_all[where] = np.asarray(counts)[:counted]
    return found


@cached_program
def _programs(decision: Decision, environment: Environment) -> EvaluationPrograms:
    def reset(params: PyTree, env_key: Array, act_key: Array) -> Lanes:
        env_state, obs = environment.reset(key_at(env_key, 0))
        if decision.agent.has_budget:
            key = jax.random.wrap_key_data(act_key)
            place = place_of_best_budget(decision.agent, params, obs, key)
            env_state, obs = env_state._replace(place=place), with_place(obs, place)
        example = jax.eval_shape(environment.step, env_state, jnp.zeros((), jnp.int32), jax.random.key(0))
        none = jnp.zeros((), jnp.int32)
        events = {name: none for name, value in example.info.items() if value.dtype == bool}
        zero = jnp.zeros((), float)
        return Lanes(env_state, obs, jnp.zeros((), bool), zero, none, events, zero, zero, zero + 1)

    def step(
        params: PyTree, lane: Lanes, env_key: Array, act_key: Array, numbers: Any, discount: Any, time: Any
    ) -> Lanes:
        _, action, value = decision(params, lane.obs, key_at(act_key, time), numbers)
        found = environment.step(lane.env_state, action, key_at(env_key, time + 1))
        after = Lanes(
            found.state,
            found.obs,
            found.terminated | found.truncated,
            lane.returns + found.reward,
            lane.lengths + 1,
            {name: count + found.info[name].astype(count.dtype) for name, count in lane.events.items()},
            jnp.where(lane.lengths == 0, value, lane.believed),
            lane.discounted_returns + lane.weight * found.reward,
            lane.weight * discount,
        )
        return tree_where(lane.done, lane, after)

    step_all = jax.vmap(step, in_axes=(None, 0, 0, 0, None, None, None))

    def advance(
        params: PyTree,
        lanes: Lanes,
        env_keys: Array,
        act_keys: Array,
        numbers: Any,
        discount: Any,
        time: Any,
        until: Any,
    ) -> Lanes:
        def goes_on(carry: tuple[Any, Lanes]) -> Any:
            return (carry[0] < until) & ~jnp.all(carry[1].done)

        def one_step(carry: tuple[Any, Lanes]) -> tuple[Any, Lanes]:
            time, lanes = carry
            return time + 1, step_all(params, lanes, env_keys, act_keys, numbers, discount, time)

        return jax.lax.while_loop(goes_on, one_step, (time, lanes))[1]

    reset_all = jax.vmap(reset, in_axes=(None, 0, 0))
    return EvaluationPrograms(jit_for_startup(reset_all), jit_for_speed(advance))
