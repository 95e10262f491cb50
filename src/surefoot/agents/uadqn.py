"""UA-DQN, the paper's agent: a QR-DQN for values, auxiliary networks for both uncertainties (Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.agents import qrdqn
from surefoot.agents.base import AgentConfig, AgentKind, build_agent, gather_actions, quantile_targets
from surefoot.agents.objectives import objective_of, quantile_belief_shapes
from surefoot.agents.qrdqn import QuantileConfig
from surefoot.architectures import Architecture
from surefoot.errors import UserError
from surefoot.estimators import decompose, quantile_variance
from surefoot.exploration import EXPLORERS
from surefoot.losses import LEVELS, quantile_loss
from surefoot.networks import on_batch
from surefoot.posteriors import POSTERIORS
from surefoot.risk import best_action, greedy
from surefoot.settings import bounded, component
from surefoot.types import Agent, Beliefs, Draws, Posterior, RandomKey, RandomKeys, Scalar, Transition


@dataclass(frozen=True, kw_only=True)
class Config(QuantileConfig, AgentConfig):
    """UA-DQN's settings; those of its posterior and its explorer join them."""

    posterior: str = component("anchored", POSTERIORS)
    """How networks are sampled from the posterior: anchored, mc-dropout, bayes-by-backprop, ensemble,
    prior-functions, epinet, or package.module:name."""
    explorer: str = component("thompson", EXPLORERS)
    """How it explores: thompson, thompson-episode, thompson-draw, ucb, ids, ids-randomised, epsilon-greedy,
    or package.module:name."""
    exploration: float = bounded(0.2, at_least=0)
    """Strength of Thompson sampling: the factor of the epistemic variance (beta)."""
    auxiliary_networks: int = bounded(2, at_least=2)
    """Networks sampled from the posterior (K); own targets train as many again, unless biased."""
    aleatoric: Literal["unbiased", "biased", "released"] = "unbiased"
    """Aleatoric estimator: eq. 7; the value network's quantiles (variant 1); eq. 7 centred over actions."""
    targets: Literal["shared", "own", "own-greedy"] = "shared"
    """What auxiliary networks bootstrap from: the value network, or themselves (greedy: own best action)."""


RELEASED_SETTINGS = {"levels": "midpoints", "aleatoric": "released", "prior_scale": "all"}
"""Settings of the released code where it differs from the paper, but for beta, which is each experiment's."""


CALIBRATED_SETTINGS: dict[str, Any] = {
    **qrdqn.CALIBRATED_SETTINGS,
    "prior_scale": "all",
    "auxiliary_networks": 5,
}
"""Settings under which both uncertainties are right on tasks with exact answers (docs/paper_map.md)."""


class Params(NamedTuple):
    """The value network (theta_v) and the auxiliary networks (theta_A, theta_B, ...)."""

    value: PyTree
    auxiliary: PyTree


Values = Float[Array, "A N"]
Samples = Float[Array, "K A N"]


def unbiased(value: Values, samples: Samples) -> Float[Array, "A"]:
    """Eq. 7, for any number of auxiliary networks."""
    del value
    return decompose(samples).aleatoric


def biased(value: Values, samples: Samples) -> Float[Array, "A"]:
    """Variant 1: the variance (n - 1) of the value network's quantiles."""
    del samples
    count = value.shape[-1]
    return quantile_variance(value) * count / (count - 1)


def released(value: Values, samples: Samples) -> Float[Array, "A"]:
    """Eq. 7 as the released code has it: differences between actions leak into the covariance.

    Departure: theirs is for two networks; with more, the mean over pairs is taken.
    """
    del value
    centred = samples - samples.mean(axis=(-2, -1), keepdims=True)
    count = samples.shape[0]
    total = (centred.sum(axis=0) ** 2 - (centred**2).sum(axis=0)).mean(axis=-1)
    return total / (count * (count - 1))


def of_quantiles(samples: Samples) -> Float[Array, "A"]:
    """Eq. 7: half the mean squared difference of two networks' quantiles, for any number of networks."""
    return decompose(samples).epistemic


def of_means(samples: Samples) -> Float[Array, "A"]:
    """The variance of the networks' mean returns.

    With targets of their own, quantiles differ between networks in shape as well, which is not what the
    agent does not know about the mean.
    """
    return samples.mean(axis=-1).var(axis=0, ddof=1)


EPISTEMIC = {"shared": of_quantiles, "own": of_means, "own-greedy": of_means}
"""Epistemic estimators by the targets of the networks that they are read off."""
ALEATORIC = {"unbiased": unbiased, "biased": biased, "released": released}


def draw_counts(config: Any) -> tuple[int, int]:
    """How many auxiliary networks share the value network's targets, and how many have their own.

    Epistemic uncertainty is read off networks with own targets, where there are some. The covariance of
    eq. 7 needs networks with shared targets: own targets make spurious spreads alike (docs/paper_map.md).
    """
    if config.targets == "shared":
        return config.auxiliary_networks, 0
    return 0 if config.aleatoric == "biased" else config.auxiliary_networks, config.auxiliary_networks


def side_by_side(posteriors: Sequence[Posterior]) -> Posterior:
    """Draws of several posteriors as if of one.

    Networks with shared and with own targets learn different things, so they may not share parameters, as
    the draws of a single posterior often do.
    """
    if len(posteriors) == 1:
        return posteriors[0]
    ends = list(accumulate(each.draws for each in posteriors))

    def init(key: RandomKey) -> Draws:
        drawn = [each.init(k) for each, k in zip(posteriors, jax.random.split(key, len(ends)), strict=True)]
        return Draws(tuple(each.params for each in drawn), tuple(each.prior for each in drawn))

    def penalty(params: PyTree, prior: PyTree, data_count: Any, keys: RandomKeys) -> Float[Array, "K"]:
        parts = zip(posteriors, params, prior, jnp.split(keys, ends[:-1]), strict=True)
        return jnp.concatenate([each.penalty(p, q, data_count, k) for each, p, q, k in parts])

    def predict(params: PyTree, inputs: Array, keys: RandomKeys) -> Float[Array, "K B ..."]:
        parts = zip(posteriors, params, jnp.split(keys, ends[:-1]), strict=True)
        return jnp.concatenate([each.predict(p, inputs, k) for each, p, k in parts])

    return Posterior(ends[-1], init, penalty, predict)


def make(config: Any, architecture: Architecture, actions: int, optimiser: Any = None) -> Agent:
    """UA-DQN for this many actions; `config` has the settings of its posterior and explorer, too."""
    shape = (actions, config.quantiles)
    network = architecture.network(shape, gain=config.gain)
    shared, own = draw_counts(config)
    draws = shared + own
    make_posterior = partial(POSTERIORS.resolve(config.posterior).make, config, architecture.factory(shape))
    posterior = side_by_side([make_posterior(count) for count in (shared, own) if count])
    objective = objective_of(config, quantile_belief_shapes(config.quantiles, epistemic=True))
    explorer = EXPLORERS.resolve(config.explorer)
    if config.objective != "greedy" and config.targets == "own-greedy":
        raise UserError(f"objective: got {config.objective} with targets=own-greedy, accepted: shared, own")
    # Whose next action depends on both uncertainties needs targets that have them.
    copies_all = bool(own) or config.objective == "iterated"
    levels = LEVELS[config.levels](config.quantiles)

    def init(key: RandomKey) -> tuple[Params, PyTree]:
        value_key, auxiliary_key = jax.random.split(key)
        auxiliary, prior = posterior.init(auxiliary_key)
        return Params(network(value_key), auxiliary), prior

    def loss(
        params: Params, target: PyTree, prior: PyTree, batch: Transition, data_count: Any, key: RandomKey
    ) -> Scalar:
        keys = jax.random.split(key, draws)
        ahead = beliefs_ahead(target, batch.next_obs, key)
        next_values, actions = ahead.quantiles, best_action(ahead, objective.target)

        def fit(values: Float[Array, "B A N"], targets: Float[Array, "B N"]) -> Scalar:
            quantiles = gather_actions(values, batch.action)
            return jnp.mean(quantile_loss(quantiles, targets, levels, config.kappa))

        targets = [quantile_targets(next_values, batch, config.discount, actions)] * (1 + shared)
        if own:
            next_samples = posterior.predict(target.auxiliary, batch.next_obs, keys)  # [K, B, A, N]
            shared_actions = None if config.targets == "own-greedy" else actions
            targets += [
                quantile_targets(next_samples[k], batch, config.discount, shared_actions)
                for k in range(shared, draws)
            ]
        samples = posterior.predict(params.auxiliary, batch.obs, keys)
        values = [on_batch(params.value, batch.obs), *(samples[k] for k in range(draws))]
        fits = [fit(each, target) for each, target in zip(values, targets, strict=True)]
        penalties = posterior.penalty(params.auxiliary, prior, data_count, keys)
        return fits[0] + sum(fits[1:]) + jnp.sum(penalties)

    def beliefs_ahead(target: PyTree, next_obs: Array, key: RandomKey) -> Any:
        """Of the beliefs in the next states what the choice of the next actions depends on."""
        if config.objective == "iterated":
            return jax.vmap(beliefs, in_axes=(None, 0, None))(target, next_obs, key)
        quantiles = on_batch(target.value if own else target, next_obs)  # [B, A, N]
        return Beliefs(quantiles.mean(axis=-1), quantiles=quantiles, budget=objective.budget_of(next_obs))

    def beliefs(params: Params, obs: Array, key: RandomKey) -> Beliefs:
        quantiles = params.value(obs)
        samples = posterior.predict(params.auxiliary, obs[None], jax.random.split(key, draws))[:, 0]
        return Beliefs(
            mean=quantiles.mean(axis=-1),
            epistemic_variance=EPISTEMIC[config.targets](samples[-config.auxiliary_networks :]),
            aleatoric_variance=ALEATORIC[config.aleatoric](quantiles, samples[:shared]),
            quantiles=quantiles,
            members=samples[-config.auxiliary_networks :].mean(axis=-1),
            budget=objective.budget_of(obs),
        )

    return build_agent(
        config,
        init=init,
        loss=loss,
        target=lambda params: params if copies_all else params.value,
        beliefs=beliefs,
        explore=explorer.make(config, objective.acting),
        exploit=greedy(objective.acting),
        draw_key=explorer.draw_key,
        objective=objective,
        optimiser=optimiser,
    )


KIND = AgentKind(
    "UADQN",
    "UA-DQN: both uncertainties, exploration by them, an attitude to risk.",
    Config,
    make,
)
