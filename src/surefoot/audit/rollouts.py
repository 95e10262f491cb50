"""Episodes of the policy that beliefs are about, states drawn from them, and returns from those states.

The policy is greedy by the mean, whatever the agent acts by, because that is the policy whose returns its
values estimate (under another objective than the paper's, the agent's own). From each state it is followed
again several times with fresh randomness. Where that has to stop before the end (an outside time limit of the
environment, or a horizon beyond which little is left), the return is completed by the value that the agent
believes there, as its own targets are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from surefoot.audit import compiled_rollouts
from surefoot.audit.subject import Subject
from surefoot.envs.as_gymnasium import GymnasiumEnvironment
from surefoot.envs.checked import CheckedEnv, CheckedStep
from surefoot.envs.resolve import EnvHandle
from surefoot.settings import Settings, bounded
from surefoot.training.episode_seeds import Stream, episode_seed
from surefoot.training.evaluation import MAX_EPISODE_STEPS

Advance = Callable[[float], None]
"""Reports progress: called with the fraction of this work that was just done."""

LEFT_AT_HORIZON = 1e-3
"""The weight that rewards have left at the horizon, by discounting."""
MAX_HOSTED_CONTINUATIONS = 4
"""Returns from a state of an environment that is no JAX program: each has to replay the episode so far."""


@dataclass(frozen=True, kw_only=True)
class Rollouts(Settings):
    """How much is played."""

    episodes: int = bounded(128, at_least=8)
    """Episodes of the policy that is greedy by the mean."""
    states: int = bounded(512, at_least=8)
    """States drawn from them, equally many from each episode."""
    continuations: int = bounded(16, at_least=2)
    """Returns from each state; at most 4 in an environment that is no JAX program."""
    seed: int = bounded(0, at_least=0)
    """Sets the episodes of one audit apart from those of another."""

    @property
    def slots(self) -> int:
        """States drawn from each episode."""
        return -(-self.states // self.episodes)


class Visited(NamedTuple):
    """States that were visited and the returns from them; the first axes are episodes and states."""

    obs: NDArray[Any]
    """[E, S, ...]"""
    returns: NDArray[np.float64]
    """Discounted returns, `[E, S, R]`."""
    completed: NDArray[np.float64]
    """The weight of the believed value that completes a return; 0 where the episode ended, `[E, S, R]`."""
    one_step: NDArray[np.float64]
    """The first reward and the discounted value that is believed after it, `[E, S, R]`."""
    how: str
    """How the returns came about, for the reader."""


CONTINUED = "the policy was followed again from the state itself, with fresh randomness"
REPLAYED = (
    "the episode was restarted by its seed, its actions were replayed, and the policy was followed on "
    "with fresh randomness"
)
REALISED = (
    "one return from each state, because the environment has no randomness after its start or keeps it "
    "where it cannot be renewed: spreads are judged over states, not within a state"
)


def horizon_of(discount: float) -> int:
    """Steps after which rewards have hardly any weight left."""
    if discount >= 1:
        return MAX_EPISODE_STEPS
    return min(MAX_EPISODE_STEPS, math.ceil(math.log(LEFT_AT_HORIZON) / math.log(max(discount, 1e-9))))


def play(subject: Subject, config: Rollouts, advance: Advance) -> Visited:
    """Play episodes, draw states from them, and follow the policy from each of these again."""
    if subject.player is None or subject.env.jax is None:
        return _play_hosted(subject, config, advance)
    player, environment = subject.player, subject.env.jax
    kept = compiled_rollouts.visit(
        player.decision,
        player.params,
        player.numbers,
        environment,
        _seeds(config),
        config.slots,
        lambda part: advance(0.3 * part),
    )
    followed = compiled_rollouts.follow(
        player.decision,
        player.params,
        player.numbers,
        environment,
        kept,
        config.continuations,
        compiled_rollouts.FollowLimits(subject.discount, horizon_of(subject.discount), config.seed),
        lambda part: advance(0.7 * part),
    )
    shape = (config.episodes, config.slots)
    return Visited(
        np.asarray(kept.obs).reshape(*shape, *kept.obs.shape[1:]),
        followed.returns.reshape(*shape, -1),
        followed.completed.reshape(*shape, -1),
        followed.one_step.reshape(*shape, -1),
        CONTINUED,
    )


def observations(
    act: Callable[[NDArray[Any]], int], env: EnvHandle, config: Rollouts, most_steps: int = 1_000
) -> NDArray[Any]:
    """Observations that a policy visits, `[E, S, ...]`: of another environment, or of another policy."""
    found: list[NDArray[Any]] = []
    for index, seed in enumerate(_seeds(config)):
        episode = _episode(
            act, env.gym, seed, config.slots, np.random.default_rng([config.seed, index]), most_steps
        )
        found.append(np.stack([each.obs for each in episode.kept]))
    return np.stack(found)


def _seeds(config: Rollouts) -> list[int]:
    return [episode_seed(config.seed, Stream.AUDIT, index) for index in range(config.episodes)]


class KeptState(NamedTuple):
    """A state of an episode, by its time."""

    time: int
    obs: NDArray[Any]
    step: CheckedStep
    """What the environment returned there."""


class PlayedEpisode(NamedTuple):
    """An episode: its actions and rewards, the states kept of it, and the observation after its end."""

    actions: list[int]
    rewards: list[float]
    kept: list[KeptState]
    last_obs: NDArray[Any]
    terminated: bool


def _episode(
    act: Callable[[NDArray[Any]], int],
    env: CheckedEnv,
    seed: int,
    slots: int,
    rng: np.random.Generator,
    most_steps: int = MAX_EPISODE_STEPS,
) -> PlayedEpisode:
    """Play an episode and keep some of its states: each slot draws from all steps alike."""
    obs, actions, rewards = env.reset(seed), list[int](), list[float]()
    kept: dict[int, KeptState] = {}
    while True:
        time = len(actions)
        actions.append(act(obs))
        step = env.step(actions[-1])
        rewards.append(step.reward)
        for slot in np.flatnonzero(rng.uniform(size=slots) * (time + 1) < 1).tolist():
            kept[slot] = KeptState(time, obs, step)
        obs = step.obs
        if step.terminated or step.truncated or len(actions) == most_steps:
            return PlayedEpisode(actions, rewards, list(kept.values()), obs, step.terminated)


def _play_hosted(subject: Subject, config: Rollouts, advance: Advance) -> Visited:
    """The same in a Gymnasium environment, one episode after the other."""
    env = subject.env.gym
    unlimited = _without_time_limit(env)
    count = min(config.continuations, MAX_HOSTED_CONTINUATIONS)
    shape = (config.episodes, config.slots, count)
    obs, followed = list[NDArray[Any]](), np.zeros((3, *shape))
    realised = np.zeros((3, *shape[:2], 1))
    repeats = True
    for index, seed in enumerate(_seeds(config)):
        rng = np.random.default_rng([config.seed, Stream.AUDIT, index])
        episode = _episode(subject.act, env, seed, config.slots, rng)
        obs.append(np.stack([each.obs for each in episode.kept]))
        for slot, state in enumerate(episode.kept):
            realised[:, index, slot, 0] = _realised(subject, episode, state)
            for number in range(count if repeats else 0):
                repeats = repeats and _replay(unlimited, seed, episode.actions, state)
                if repeats:
                    _renew_randomness(unlimited, int(rng.integers(2**31)))
                    followed[:, index, slot, number] = _follow(subject, unlimited, state.obs)
        advance(1 / config.episodes)
    if repeats and np.any(np.ptp(followed[0], axis=-1) > 0):
        return Visited(np.stack(obs), followed[0], followed[1], followed[2], REPLAYED)
    # What was followed goes beyond outside time limits, other than the episodes themselves.
    returns, completed, one_step = followed[..., :1] if repeats else realised
    return Visited(np.stack(obs), returns, completed, one_step, REALISED)


def _without_time_limit(env: CheckedEnv) -> CheckedEnv:
    """The environment without the time limit around it, which is none of its task."""
    return CheckedEnv(env.env.env, env.name) if isinstance(env.env, TimeLimit) else env


def _replay(env: CheckedEnv, seed: int, actions: list[int], state: KeptState) -> bool:
    """Bring an environment to a state of an episode; whether it is the same state again."""
    obs = env.reset(seed)
    for action in actions[: state.time]:
        obs = env.step(action).obs
    return np.array_equal(obs, state.obs)


def _renew_randomness(env: CheckedEnv, seed: int) -> None:
    """Fresh random numbers from here on, where an environment draws them as Gymnasium's own do."""
    inner = env.env.unwrapped
    if isinstance(inner, GymnasiumEnvironment):
        inner.renew_randomness(seed)
    inner.np_random = np.random.default_rng(seed)


def _follow(subject: Subject, env: CheckedEnv, obs: NDArray[Any]) -> tuple[float, float, float]:
    """The return from here on, the weight of the value that completes it, and the one-step target."""
    total, weight, one_step = 0.0, 1.0, 0.0
    for time in range(horizon_of(subject.discount)):
        step = env.step(subject.act(obs))
        total, weight, obs = total + weight * step.reward, weight * subject.discount, step.obs
        if time == 0:
            one_step = _one_step(subject, step)
        if step.terminated:
            return total, 0.0, one_step
        if step.truncated:
            break
    return total + weight * _value(subject, obs), weight, one_step


def _one_step(subject: Subject, step: CheckedStep) -> float:
    return step.reward + (0 if step.terminated else subject.discount * _value(subject, step.obs))


def _realised(subject: Subject, episode: PlayedEpisode, state: KeptState) -> tuple[float, float, float]:
    """The same for the return that the episode itself had from a state on."""
    rewards = np.array(episode.rewards[state.time :])
    total = float(rewards @ subject.discount ** np.arange(len(rewards)))
    one_step = _one_step(subject, state.step)
    if episode.terminated:
        return total, 0.0, one_step
    weight = subject.discount ** len(rewards)
    return total + weight * _value(subject, episode.last_obs), weight, one_step


def _value(subject: Subject, obs: NDArray[Any]) -> float:
    return float(np.asarray(subject.beliefs(obs[None]).mean)[0, subject.act(obs)])
