"""What is drawn of each kind of environment is what the environment itself shows."""

import base64
import io
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from PIL import Image

from surefoot.envs import minatar
from surefoot.web.scenes import MAX_PIXELS, action_names, png_text
from surefoot.web.simulator import ReplaySimulator, StateSimulator, simulator_of
from tests.small_models import CLIFF

DEEP_SEA = "surefoot/DeepSea-v0"


def test_the_cliff_has_its_cells_paths_and_wind():
    simulator, _ = simulator_of(CLIFF, {"columns": 6, "wind": 0.2})
    stage = simulator.stage.description
    assert stage["kind"] == "cliff"
    assert stage["ledge"] == [[1, column] for column in range(1, 5)]
    assert stage["winds"] == [0.2] * 4
    for path in stage["paths"].values():
        assert (path[0], path[-1]) == (stage["start"], stage["goal"])
        assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in pairwise(path))
    assert not any(cell in stage["ledge"] for cell in stage["paths"]["safe"])
    up = simulator.after(simulator.start(0), 0)
    assert up.scene == {"cell": [0, 0]}


def test_a_second_cliff_has_a_wind_of_its_own():
    simulator, _ = simulator_of(CLIFF, {"far_columns": 3, "far_wind": 0.3})
    stage = simulator.stage.description
    assert dict(zip((column for _, column in stage["ledge"]), stage["winds"], strict=True)) == {
        **dict.fromkeys((1, 2), 0.3),
        **dict.fromkeys((4, 5, 6), 0.05),
    }
    assert simulator.start(0).scene["cell"] == stage["start"] == [1, 3]


def test_the_cells_of_minatar_are_those_of_the_observation():
    simulator, _ = simulator_of("surefoot/MinAtar-Breakout-v0", {})
    moment = simulator.start(1)
    drawn = np.zeros(moment.obs.shape, bool)
    for channel, cells in enumerate(moment.scene["cells"]):
        drawn[np.array(cells, int) // 10, np.array(cells, int) % 10, channel] = True
    np.testing.assert_array_equal(drawn, moment.obs)
    assert simulator.stage.description["channels"] == list(minatar.CHANNELS["breakout"])


def test_other_environments_show_the_pictures_that_they_render():
    simulator, _ = simulator_of(DEEP_SEA, {"size": 4})
    assert isinstance(simulator, ReplaySimulator)
    moment = simulator.after(simulator.start(0), 1)
    env = gymnasium.make(DEEP_SEA, size=4, render_mode="rgb_array")
    env.reset(seed=0)
    env.step(1)
    shown = Image.open(io.BytesIO(base64.b64decode(moment.scene["png"])))
    np.testing.assert_array_equal(np.asarray(shown), env.render())


def test_an_environment_without_pictures_shows_its_numbers():
    simulator, _ = simulator_of("surefoot/NoisyChain-v0", {})
    assert isinstance(simulator, StateSimulator)
    moment = simulator.start(0)
    assert moment.scene["numbers"] == pytest.approx(moment.obs.tolist())


def test_large_pictures_are_made_smaller():
    picture = np.zeros((1_000, 2_000, 3), np.uint8)
    assert Image.open(io.BytesIO(base64.b64decode(png_text(picture)))).size == (MAX_PIXELS, MAX_PIXELS // 2)


def test_actions_have_names_or_numbers():
    assert action_names(CLIFF, 4, 0) == ["up", "right", "down", "left"]
    assert action_names("surefoot/MinAtar-Freeway-v0", 6, 0)[5] == "fire"
    assert action_names("other", 2, 3) == ["action 3", "action 4"]
