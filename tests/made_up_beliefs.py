"""Policies tried on beliefs that are made up for the purpose, over many random keys."""

import jax
import jax.numpy as jnp
import numpy as np

KEYS = jax.random.split(jax.random.key(0), 20_000)


def chosen(policy, beliefs, step=0, episode_keys=None):
    """Actions over many step keys, with one episode key for all by default."""
    episode_keys = KEYS[jnp.zeros(len(KEYS), int)] if episode_keys is None else episode_keys
    return np.asarray(jax.vmap(lambda key, episode: policy(beliefs, key, episode, step))(KEYS, episode_keys))
