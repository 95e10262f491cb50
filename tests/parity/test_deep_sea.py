"""Deep sea in lock-step with bsuite's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bsuite.environments.deep_sea import DeepSea

from surefoot.envs import deep_sea


@pytest.mark.parametrize("size", [5, 20, 100])
@pytest.mark.parametrize("mapping_seed", [42, 7])
def test_episodes_of_random_actions_are_those_of_bsuite(size, mapping_seed):
    reference = DeepSea(size, mapping_seed=mapping_seed)
    environment = deep_sea.make(deep_sea.Config(size=size, mapping_seed=mapping_seed))
    step, rng = jax.jit(environment.step), np.random.default_rng(size)
    mapping = deep_sea.action_mapping(deep_sea.Config(size=size, mapping_seed=mapping_seed))
    bad = 0
    for episode in range(20):
        theirs = reference.reset()
        state, obs = environment.reset(jax.random.key(0))
        for row in range(size):
            np.testing.assert_array_equal(np.asarray(obs, np.float32), theirs.observation)
            # Every second episode goes right all the way but for a few steps, to see the other end too.
            right = mapping[row, int(state.column)]
            straight = episode % 2 and rng.random() > 1 / size
            action = int(right if straight else rng.integers(2))
            theirs = reference.step(action)
            state, obs, reward, terminated, _, info = step(state, jnp.int32(action), jax.random.key(row))
            assert float(reward) == pytest.approx(theirs.reward, abs=1e-6)
            assert bool(terminated) == theirs.last()
        np.testing.assert_array_equal(np.asarray(obs, np.float32), theirs.observation)
        bad += bool(info["strayed"])
        assert bad == reference.bsuite_info()["total_bad_episodes"]
    assert 0 < bad < 20
    assert deep_sea.optimal_return(deep_sea.Config(size=size)) == pytest.approx(reference._optimal_return)
