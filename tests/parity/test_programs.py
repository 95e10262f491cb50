"""What XLA makes of the training program, compiled as users compile it."""

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
    compile_with = compiled.jit_for_speed

    def spy(function, **options):
        programs.append(compile_with(function, **options))
        return programs[-1]

    monkeypatch.setattr(compiled, "jit_for_speed", spy)
    environment, config = minatar.make(surefoot_agents.GAME), surefoot_agents.settings(name, replay_capacity=1_000)
    made = compiled_driver.make(surefoot_agents.agent_of(name, config, environment), environment, config)
    state = jax.eval_shape(made.init, jax.random.key(0))
    (program,) = programs
    text = program.lower(state, 10, True).compile().as_text()
    shapes = {leaf.shape for leaf in tree_leaves(state.train.learner.params) if leaf.ndim == 2}
    assert len(shapes) == 3
    for shape in shapes:
        size = ",".join(map(str, shape))
        assert f"f32[{size}]" in text
        assert not re.search(rf"f32\[{size}\]\S* copy\(", text), size
