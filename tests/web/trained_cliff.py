"""A windy-cliff run for the tests of the page: risk-neutral UA-DQN, as `reproduce cliff` trains it."""

import sys
from dataclasses import asdict

import surefoot
from surefoot.agents.presets import resolve_settings
from surefoot.experiments.cliff import NETWORK, NEUTRAL, agent_settings

STEPS = 10_000
SEED = 0


def model(seed=SEED):
    """The untrained model."""
    agent, given = agent_settings(NEUTRAL, "calibrated", 4.0)
    settings = asdict(resolve_settings(agent, "minatar", given))
    env = "surefoot/WindyCliff-v0"
    return surefoot.UADQN(env, network=NETWORK, normalise=True, seed=seed, preset="minatar", **settings)


def train(out, steps=STEPS, seed=SEED):
    """Train it into a directory."""
    return model(seed).learn(steps, out=out, log_every=250, checkpoint_every=5_000, progress=False)


if __name__ == "__main__":
    train(sys.argv[1])
