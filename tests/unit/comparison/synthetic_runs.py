"""Directories of runs with logs that are made up, so that scores are known."""

import json
from dataclasses import asdict

import numpy as np
from gymnasium.spaces import Box

from surefoot.agents.presets import preset_for, resolve_settings
from surefoot.architectures import default_network
from surefoot.model_spec import space_to_json
from surefoot.sweeps.ledger import Ledger
from surefoot.sweeps.plan import PlannedRun

VECTOR, GRID = Box(0, 1, (4,)), Box(0, 1, (10, 10, 4), bool)


def write_run(
    path,
    score,
    *,
    agent="dqn",
    seed=0,
    env="CartPole-v1",
    space=VECTOR,
    preset=None,
    steps=1_000,
    made=None,
    given=None,
    scalars=None,
    **config,
):
    """A run with an episode of ten steps after another, all with the same return in its last half.

    Before, the return is 0. `scalars` has the values of scalars, which are logged once in 100 steps.
    """
    made = steps if made is None else made
    path.mkdir(parents=True)
    preset = preset or preset_for(space)
    if "settings" not in config:
        config["settings"] = asdict(resolve_settings(agent, preset, given or {}, space))
    found = {
        "env": env,
        "env_kwargs": {},
        "driver": "hosted",
        "agent": agent,
        "preset": preset,
        "network": default_network(space),
        "normalise": False,
        "seed": seed,
        "observation_space": space_to_json(space),
        "optimiser": "adam",
        "steps": steps,
        "version": "0.1.0",
        "revision": "a",
        **config,
    }
    (path / "config.json").write_text(json.dumps(found))
    ends = range(10, made + 1, 10)
    rows = [f"{i},{end},{score if end > made / 2 else 0.0},10,True,0" for i, end in enumerate(ends, 1)]
    (path / "episodes.csv").write_text("\n".join(["episode,step,return,length,terminated,env", *rows, ""]))
    lines = [
        {"step": step, "rollout/episodes": step // 10, **(scalars or {})}
        for step in range(100, made + 1, 100)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def write_group(home, scores, name=None, **settings):
    """A run for each score, with seeds from 0."""
    name = name or settings.get("agent", "dqn")
    return [write_run(home / f"{name}-seed{i}", each, seed=i, **settings) for i, each in enumerate(scores)]


def write_sweep(home, runs):
    """A sweep whose plan has these runs in this order: names and arguments of `write_run`."""
    home.mkdir()
    plan = [PlannedRun(name=name, steps=1_000, settings={}) for name in runs]
    Ledger(home).record_plan(plan, lambda _: None)
    for name, arguments in runs.items():
        write_run(home / "runs" / name, **arguments)
    return home


def scores_of(table, group, task=None):
    """The scores of a group's runs in the table of a comparison's runs."""
    rows = (table["group"] == group) & ((table["task"] == task) if task else True)
    return np.sort(table["score"][rows]).tolist()
