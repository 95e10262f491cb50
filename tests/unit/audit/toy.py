"""A task whose returns have a known normal distribution, and agents that believe it, more or less.

An observation is four numbers in ascending order, drawn once for an episode, and the steps that are left. The
reward of each of three steps is normal; its mean and spread depend on the four numbers.
"""

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from jax.scipy.special import ndtri

from surefoot.audit.caveats import EpistemicKind
from surefoot.audit.rollouts import Rollouts
from surefoot.audit.subject import JaxPlayer, Subject
from surefoot.envs.resolve import resolve_env
from surefoot.risk import MEAN
from surefoot.training.inference import decision_of
from surefoot.types import Agent, Beliefs, Environment, EnvironmentStep

STEPS, QUANTILES = 3, 50
LEVELS = (np.arange(QUANTILES) + 0.5) / QUANTILES
SMALL = Rollouts(episodes=96, states=192, continuations=32, seed=1)


def reward_mean(obs):
    return 4 * obs[:4].mean()


def reward_sd(obs):
    return 0.5 + 0.5 * obs[0]


def reset(key):
    numbers = jnp.sort(jax.random.uniform(key, (4,)))
    obs = jnp.append(numbers, jnp.full((), STEPS, numbers.dtype))
    return obs, obs


def step(state, action, key):
    del action
    reward = reward_mean(state) + reward_sd(state) * jax.random.normal(key)
    after = state.at[4].add(-1)
    false = jnp.zeros((), bool)
    return EnvironmentStep(after, after, reward, after[4] <= 0, false, {})


ENVIRONMENT = Environment(reset, step, Box(0, STEPS, (5,), np.float32), Discrete(2))


def exact_beliefs(params, obs, key):
    """The exact distribution, but for a small error of the mean; it knows how large that is."""
    del params, key
    left = obs[4]
    width = obs[3] - obs[0]
    mean = left * reward_mean(obs) + 0.2 * width * left
    sd = jnp.sqrt(left) * reward_sd(obs)
    is_sorted = jnp.all(jnp.diff(obs[:4]) >= 0) & (left == jnp.round(left)) & (left > 0)
    epistemic = 0.2 * jnp.abs(width) * left + jnp.where(is_sorted, 0.0, 5.0)
    both = jnp.stack([mean, mean - 1])  # The second action is believed to be worse.
    quantiles = both[:, None] + sd * ndtri(jnp.asarray(LEVELS, mean.dtype))[None]
    return Beliefs(both, jnp.stack([epistemic**2] * 2), jnp.stack([sd**2] * 2), quantiles)


def over_confident(params, obs, key):
    """Quantiles shrunk by half around their mean, and the aleatoric variance to a quarter."""
    found = exact_beliefs(params, obs, key)
    centre = found.mean[:, None]
    return found._replace(
        quantiles=centre + (found.quantiles - centre) / 2, aleatoric_variance=found.aleatoric_variance / 4
    )


def wrong(params, obs, key):
    """Epistemic uncertainty replaced by noise, the same for equal observations."""
    found = exact_beliefs(params, obs, key)
    bits = jax.lax.bitcast_convert_type(obs.astype(jnp.float32), jnp.uint32)
    noise = jax.random.exponential(jax.random.fold_in(jax.random.key(0), bits[:4].sum()), (2,))
    return found._replace(epistemic_variance=noise.astype(found.mean.dtype) ** 2)


def subject_of(beliefs, environment=ENVIRONMENT, kind=EpistemicKind.TOTAL, levels=LEVELS, discount=1.0):
    agent = Agent(None, None, None, None, None, beliefs, None, None)
    decision, numbers = decision_of(agent, MEAN)
    batch = jax.jit(jax.vmap(beliefs, in_axes=(None, 0, None)))

    def of_batch(obs):
        return batch(None, jnp.asarray(obs), jax.random.key(0))

    def best(obs):
        return np.asarray(of_batch(obs).mean).argmax(axis=-1)

    return Subject(
        name="toy",
        env=resolve_env(environment),
        beliefs=of_batch,
        best=best,
        act=lambda obs: int(best(obs[None])[0]),
        discount=discount,
        quantiles=len(levels),
        levels=np.asarray(levels),
        epistemic_kind=kind,
        player=JaxPlayer(decision, numbers, None),
    )
