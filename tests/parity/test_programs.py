"""The training program as XLA compiles it for users."""

import re

import jax
import pytest
from jax.tree_util import tree_leaves

from surefoot.bench import surefoot_agents
from surefoot.envs import minatar
from surefoot.training import compiled_driver


@pytest.mark.parametrize("name", ["qrdqn", "uadqn"])
def test_an_update_copies_no_weights(name, monkeypatch):
    programs = []
    jit_for_speed = compiled_driver.jit_for_speed

    def spy(function, **options):
        programs.append(jit_for_speed(function, **options))
        return programs[-1]

    monkeypatch.setattr(compiled_driver, "jit_for_speed", spy)
    environment = minatar.make(surefoot_agents.GAME)
    config = surefoot_agents.agent_settings(name, replay_capacity=1_000)
    agent = surefoot_agents.make_agent(name, config, environment)
    driver = compiled_driver.make(agent, environment, config)
    state = jax.eval_shape(driver.init, jax.random.key(0))
    (program,) = programs
    text = program.lower(state, 10, True).compile().as_text()
    shapes = {leaf.shape for leaf in tree_leaves(state.train.learner.params) if leaf.ndim == 2}
    assert len(shapes) == 3
    for shape in shapes:
        size = ",".join(map(str, shape))
        assert f"f32[{size}]" in text
        assert not re.search(rf"f32\[{size}\]\S* copy\(", text), size
