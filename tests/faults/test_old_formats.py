"""Checkpoints of older versions: they load, give the same beliefs, and go on learning."""

import json
from pathlib import Path

import numpy as np
import pytest

import surefoot

DATA = Path(__file__).with_name("data")


@pytest.mark.parametrize("version", sorted(path.name for path in DATA.glob("format_*")))
def test_a_checkpoint_of_an_older_version_still_loads_with_the_same_beliefs(version, reached):
    expected = json.loads((DATA / version / "expected.json").read_text())
    for name, wanted in expected.items():
        model = surefoot.load(DATA / version / name)
        found = model.beliefs(np.array(wanted["obs"], model.observation_space.dtype))
        for field, values in wanted["beliefs"].items():
            np.testing.assert_allclose(getattr(found, field), values, rtol=1e-4, atol=1e-5)
        steps = model.num_timesteps
        assert steps == wanted["steps"]
        assert model.learn(25, progress=False).num_timesteps == steps + 25
    reached(
        "old format",
        f"{len(expected)} checkpoints of {version}",
        "load, give the same beliefs, go on learning",
    )
