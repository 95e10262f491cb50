"""Writes the checkpoints that later versions must still load: `python tests/faults/make_old_format.py`."""

import json
from pathlib import Path

import numpy as np

from surefoot.model import MODELS
from surefoot.runs.checkpoint import FORMAT

CASES = {
    "uadqn": ("surefoot/WindyCliff-v0", {}),
    "qrdqn": ("CartPole-v1", {"normalise": True}),
    "bootstrapped": ("surefoot/WindyCliff-v0", {}),
    "dqn": ("FrozenLake-v1", {}),
}


def main():
    home = Path(__file__).with_name("data") / f"format_{FORMAT}"
    expected = {}
    for name, (env, more) in CASES.items():
        model = MODELS[name](
            env,
            network="mlp:6",
            batch_size=4,
            learning_starts=20,
            target_period=10,
            replay_capacity=20,
            **more,
        )
        model.learn(50, progress=False)
        model.save(home / name)
        obs = np.zeros(model.observation_space.shape, model.observation_space.dtype).tolist()
        found = model.beliefs(np.array(obs, model.observation_space.dtype))
        expected[name] = {
            "obs": obs,
            "steps": model.num_timesteps,
            "beliefs": {
                field: np.asarray(value).tolist()
                for field, value in found._asdict().items()
                if value is not None
            },
        }
    (home / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
