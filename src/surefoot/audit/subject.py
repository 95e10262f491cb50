"""What is audited: beliefs, the environment they are about, and how they were learned."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PyTree
from numpy.typing import NDArray

from surefoot.audit.caveats import EpistemicKind, caveats_of, epistemic_kind_of
from surefoot.envs.resolve import EnvHandle
from surefoot.losses import LEVELS, midpoint_levels
from surefoot.model_spec import ModelSpec
from surefoot.replay import Replay
from surefoot.risk import MEAN
from surefoot.training.inference import Decision, Predictor, decision_of
from surefoot.types import Agent, Beliefs


class JaxPlayer(NamedTuple):
    """A policy as a pure function, for environments in JAX."""

    decision: Decision
    numbers: tuple[Any, ...]
    params: PyTree


class Experience(NamedTuple):
    """What the agent learned from last: observations and actions, `[N, ...]`."""

    obs: NDArray[Any]
    actions: NDArray[Any]


class Subject(NamedTuple):
    """What is audited."""

    name: str
    """Agent, environment and steps of training, for titles."""
    env: EnvHandle
    beliefs: Callable[[NDArray[Any]], Beliefs]
    """From a batch of observations."""
    best: Callable[[NDArray[Any]], NDArray[np.int64]]
    """The policy that the beliefs are about, for a batch of observations; actions count from 0."""
    act: Callable[[NDArray[Any]], int]
    """The same for one observation."""
    discount: float
    quantiles: int
    """How many quantiles the beliefs have; 0 without."""
    levels: NDArray[np.float64]
    """Their levels."""
    epistemic_kind: EpistemicKind
    player: JaxPlayer | None = None
    """The same policy for an environment in JAX."""
    experience: Experience | None = None
    caveats: tuple[str, ...] = ()
    """What the numbers cannot mean, by the settings they were learned with."""
    spec: ModelSpec | None = None
    """What the model is, if it is one of Surefoot's."""


def of_agent(
    agent: Agent,
    predictor: Predictor,
    params: PyTree,
    spec: ModelSpec,
    env: EnvHandle,
    steps: int,
    replay: Replay | None,
) -> Subject:
    """An agent of Surefoot's with its parameters."""
    # Under another objective, values are those of the agent's own policy.
    risk = MEAN if getattr(spec.settings, "objective", "greedy") == "greedy" else None
    decision, numbers = decision_of(agent, risk)
    policy = predictor.episode_policy(params, steps, risk, 0)
    start = int(spec.action_space.start)
    count = int(getattr(spec.settings, "quantiles", 0))
    levels = LEVELS.get(str(getattr(spec.settings, "levels", "")), midpoint_levels)
    return Subject(
        name=f"{spec.agent} in {spec.env}, {steps:,} steps",
        env=env,
        beliefs=partial(predictor.beliefs, params),
        best=lambda obs: np.asarray(predictor.best_actions(params, obs, risk), np.int64) - start,
        act=lambda obs: policy(obs, 0),
        discount=float(spec.settings.discount),
        quantiles=count,
        levels=np.asarray(levels(max(count, 2)), float)[:count],
        epistemic_kind=epistemic_kind_of(spec),
        player=None if env.jax is None else JaxPlayer(decision, numbers, params),
        experience=None if replay is None else _experience(replay),
        caveats=caveats_of(spec),
        spec=spec,
    )


def _experience(replay: Replay) -> Experience:
    size = int(replay.size)
    return Experience(
        np.asarray(replay.storage.obs)[:size], np.asarray(replay.storage.action)[:size].astype(int)
    )
