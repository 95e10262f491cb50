"""The windy cliff, where the truth is exact: dynamic programming instead of Monte-Carlo returns.

The aleatoric estimators are read off the same networks: the covariance of networks that share targets
(eq. 7), the variance of the value network's quantiles (Proposition 2.1), and, if the agent has networks with
targets of their own, the covariance of these.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree
from numpy.typing import NDArray

from surefoot.agents.observation_normalisation import Normalised
from surefoot.agents.uadqn import Params
from surefoot.audit.section import Section
from surefoot.audit.subject import JaxPlayer, Subject
from surefoot.envs import windy_cliff, windy_cliff_exact
from surefoot.figures import audit_exact as figure
from surefoot.jit import jit_for_log
from surefoot.model_spec import CUSTOM, ModelSpec, agent_of
from surefoot.program_cache import cached_program
from surefoot.recalibration import levels_of_returns
from surefoot.statistics import Estimate
from surefoot.types import Agent

ENV = "surefoot/WindyCliff-v0"
TITLE = "Exact truth: the windy cliff"
ESTIMATORS = ("unbiased", "biased", "independent-target")
UNBIASED, BIASED, INDEPENDENT = ESTIMATORS
CENTRAL = 0.8


class Truth(NamedTuple):
    """Exact returns of the model's own greedy policy, and where that policy goes."""

    mean: NDArray[np.float64]
    """From each time, row and column, `[time, row, column]`."""
    sd: NDArray[np.float64]
    visits: NDArray[np.float64]
    """The probability that an episode comes by."""
    distributions: Mapping[tuple[int, int, int], dict[float, float]]
    """The probability of each return, from each state that may be visited."""


def truth_of(policy_table: windy_cliff_exact.PolicyTable, config: windy_cliff.Config) -> Truth:
    """Solve the cliff for a policy, undiscounted."""
    returns = windy_cliff_exact.exact_returns(policy_table, config)
    visits = windy_cliff_exact.visit_probabilities(policy_table, config)
    distributions = {
        (time, row, column): windy_cliff_exact.return_distribution(policy_table, (time, row, column), config)
        for time, row, column in np.argwhere(visits > 0).tolist()
    }
    return Truth(returns.mean[:-1], returns.sd[:-1], visits, distributions)


def is_solvable(subject: Subject) -> bool:
    """Whether this is an undiscounted model on the windy cliff, greedy by its mean, with one start."""
    spec = subject.spec
    if spec is None or spec.env != ENV or spec.network == CUSTOM or subject.player is None:
        return False
    is_greedy = getattr(spec.settings, "objective", "greedy") == "greedy"
    return is_greedy and subject.discount == 1 and not spec.env_kwargs.get("far_starts")


Beliefs = dict[str, NDArray[np.float64]]


def scalars(spec: ModelSpec, params: PyTree, beliefs: Callable[[NDArray[Any]], Any]) -> dict[str, float]:
    """Errors against the exact truth, by name: over the states that the greedy policy visits."""
    config = windy_cliff.Config(**spec.env_kwargs)
    observations = windy_cliff.observations(config)
    shape, flat = observations.shape[:-1], observations.reshape(-1, observations.shape[-1])
    found = beliefs(flat)
    mean = np.asarray(found.mean, float).reshape(*shape, -1)
    policy = mean.argmax(axis=-1)
    truth = truth_of(policy, config)
    weights = truth.visits / truth.visits.sum()

    def of_policy(values: Any) -> NDArray[np.float64]:
        per_action = np.asarray(values, float).reshape(*shape, mean.shape[-1], -1)
        return np.take_along_axis(per_action, policy[..., None, None], axis=-2)[..., 0, :]

    def error(values: NDArray[Any], exact: NDArray[Any]) -> float:
        return float(np.sqrt(np.sum(weights * (values - exact) ** 2)))

    start = (0, config.rows - 1, config.far_columns)
    result = {"audit/mean_error": error(of_policy(found.mean)[..., 0], truth.mean)}
    estimates = estimators(spec, params, flat)
    if not estimates and found.aleatoric is not None:
        estimates = {BIASED if spec.agent == "qrdqn" else UNBIASED: found.aleatoric}
    for name, sd in estimates.items():
        result[f"audit/error_{name}"] = error(of_policy(sd)[..., 0], truth.sd)
        result[f"audit/ledge_{name}"] = float(
            np.asarray(sd, float).reshape(*shape, -1)[start][windy_cliff.RIGHT]
        )
    if found.quantiles is not None:
        levels = _levels(spec, np.shape(found.quantiles)[-1])
        quantiles = np.sort(of_policy(found.quantiles), axis=-1)
        result["audit/coverage"] = exact_coverage(quantiles, levels, truth)
    return result


def _levels(spec: ModelSpec, count: int) -> NDArray[np.float64]:
    steps = np.arange(1, count + 1)
    is_paper = getattr(spec.settings, "levels", "midpoints") == "paper"
    return steps / (count + 1) if is_paper else (steps - 0.5) / count


DRAWS = 64
"""Draws of the level of a return that has an interval of them."""


def exact_coverage(quantiles: NDArray[Any], levels: NDArray[Any], truth: Truth) -> float:
    """The probability that a return lies in the believed 80 % interval, over the states visited."""
    spread = _spread_of_all_returns(truth)
    covered = 0.0
    for state, distribution in truth.distributions.items():
        outcomes = np.repeat(list(distribution), DRAWS)[None]
        found = levels_of_returns(
            quantiles[state][None], levels, outcomes, 0.05 * spread, np.random.default_rng(0)
        )
        inside = np.mean((np.abs(found - 0.5) <= CENTRAL / 2).reshape(-1, DRAWS), axis=1)
        covered += truth.visits[state] * float(inside @ np.array(list(distribution.values())))
    return covered / float(truth.visits.sum())


def _spread_of_all_returns(truth: Truth) -> float:
    weights = truth.visits / truth.visits.sum()
    mean = float(np.sum(weights * truth.mean))
    return float(np.sqrt(np.sum(weights * (truth.sd**2 + (truth.mean - mean) ** 2))))


@cached_program
def _beliefs_program(agent: Agent) -> Callable[..., Any]:
    return jit_for_log(jax.vmap(agent.beliefs, in_axes=(None, 0, None)))


def estimators(spec: ModelSpec, params: PyTree, obs: NDArray[Any]) -> Beliefs:
    """Aleatoric standard deviations by estimator, `[states, actions]`, from UA-DQN's networks."""
    if spec.agent != "uadqn":
        return {}
    settings: Any = spec.settings
    inner: Params = params.params if isinstance(params, Normalised) else params
    shared, own = inner.auxiliary, None
    if settings.targets != "shared":
        shared, own = inner.auxiliary if settings.aleatoric != "biased" else (None, inner.auxiliary)

    def read(aleatoric: str, auxiliary: PyTree) -> NDArray[np.float64]:
        as_if = replace(settings, targets="shared", aleatoric=aleatoric)
        agent = agent_of(replace(spec, settings=as_if))
        mine = Params(inner.value, auxiliary)
        every = params._replace(params=mine) if isinstance(params, Normalised) else mine
        return np.asarray(_beliefs_program(agent)(every, obs, jax.random.key(0)).aleatoric, float)

    found: Beliefs = {BIASED: read("biased", own if shared is None else shared)}
    if shared is not None:
        found[UNBIASED] = read("unbiased", shared)
    if own is not None:
        found[INDEPENDENT] = read("unbiased", own)
    return found


def look(model: Any) -> dict[str, float]:
    """The probe of runs on the cliff: `--probe surefoot.audit.exact:look` logs these errors by step."""
    return scalars(model.spec, model.parameters, model.beliefs)


def measure(subject: Subject, history: Mapping[str, NDArray[Any]]) -> Section:
    """Errors of the estimators for the model as it is, and by step if its run was logged with `look`."""
    assert subject.spec is not None
    player: JaxPlayer | None = subject.player
    assert player is not None
    found = scalars(subject.spec, player.params, subject.beliefs)
    names = {
        "audit/mean_error": "error of the mean",
        "audit/coverage": f"coverage of the central {CENTRAL:.0%} interval",
        **{f"audit/error_{name}": f"error of the aleatoric sd, {name} estimator" for name in ESTIMATORS},
        **{
            f"audit/ledge_{name}": f"aleatoric sd of stepping onto the ledge, {name} estimator"
            for name in ESTIMATORS
        },
    }
    config = windy_cliff.Config(**subject.spec.env_kwargs)
    ledge = np.full((config.time_limit, config.rows, config.width), windy_cliff.RIGHT)
    exact_sd = windy_cliff_exact.exact_returns(ledge, config).sd[0, config.rows - 1, config.far_columns]
    rows = {names[name]: Estimate(value, None) for name, value in found.items()}
    missing = (
        ()
        if len(history)
        else ("errors by step: the run was not logged with --probe surefoot.audit.exact:look",)
    )
    return Section(
        "exact",
        TITLE,
        text=(
            "Root mean square errors over the states that the greedy policy visits, against dynamic "
            f"programming. The exact sd of the return along the ledge is {exact_sd:.4g}.",
        ),
        rows=rows,
        figure=figure.draw(history) if len(history) else None,
        not_applicable=missing,
        data={"config": asdict(config), "exact_ledge_sd": float(exact_sd)},
    )
