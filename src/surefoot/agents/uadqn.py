"""UA-DQN, the paper's agent: a QR-DQN for values, auxiliary networks for both uncertainties (Algorithm 1)."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.agents.base import AgentConfig, AgentKind, build_agent, gather_actions, quantile_targets
from surefoot.agents.qrdqn import QuantileConfig
from surefoot.architectures import Architecture
from surefoot.estimators import decompose, quantile_variance
from surefoot.exploration import EXPLORERS
from surefoot.losses import LEVELS, quantile_loss
from surefoot.posteriors import POSTERIORS
from surefoot.risk import greedy, parse_risk
from surefoot.settings import bounded, checked, component
from surefoot.types import Agent, Beliefs, RandomKey, Scalar, Transition


@dataclass(frozen=True, kw_only=True)
class Config(QuantileConfig, AgentConfig):
    """UA-DQN's settings; those of its posterior and its explorer join them."""

    risk: str = checked("mean", lambda _, text: parse_risk(text) and None)
    """Attitude to risk: mean, mean-sd:LAMBDA, or package.module:name."""
    posterior: str = component("anchored", POSTERIORS)
    """How networks are sampled from the posterior: anchored, mc-dropout, or package.module:name."""
    explorer: str = component("thompson", EXPLORERS)
    """How it explores: thompson, thompson-episode, epsilon-greedy, or package.module:name."""
    exploration: float = bounded(0.2, at_least=0)
    """Strength of exploration: the factor of the epistemic variance in Thompson sampling (beta)."""
    auxiliary_networks: int = bounded(2, at_least=2)
    """Networks sampled from the posterior (K)."""
    aleatoric: Literal["unbiased", "biased", "released"] = "unbiased"
    """Aleatoric estimator: eq. 7; the value network's quantiles (variant 1); eq. 7 centred over actions."""


RELEASED_SETTINGS = {"levels": "midpoints", "aleatoric": "released", "prior_scale": "all"}
"""Settings of the released code where it differs from the paper, but for beta, which is each experiment's."""


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


ALEATORIC = {"unbiased": unbiased, "biased": biased, "released": released}


def make(config: Any, architecture: Architecture, actions: int, optimiser: Any = None) -> Agent:
    """UA-DQN for this many actions; `config` has the settings of its posterior and explorer, too."""
    shape = (actions, config.quantiles)
    network = architecture.network(shape, gain=config.gain)
    networks = partial(architecture.network, shape)
    posterior = POSTERIORS.resolve(config.posterior).make(config, networks, config.auxiliary_networks)
    risk = parse_risk(config.risk)
    levels = LEVELS[config.levels](config.quantiles)
    draws = posterior.draws

    def init(key: RandomKey) -> tuple[Params, PyTree]:
        value_key, auxiliary_key = jax.random.split(key)
        auxiliary, prior = posterior.init(auxiliary_key)
        return Params(network(value_key), auxiliary), prior

    def loss(
        params: Params, target: PyTree, prior: PyTree, batch: Transition, data_count: Any, key: RandomKey
    ) -> Scalar:
        targets = quantile_targets(target, batch, config.discount)  # [B, N]

        def fit(values: Float[Array, "B A N"]) -> Scalar:
            quantiles = gather_actions(values, batch.action)
            return jnp.mean(quantile_loss(quantiles, targets, levels, config.kappa))

        samples = posterior.predict(params.auxiliary, batch.obs, jax.random.split(key, draws))
        penalties = posterior.penalty(params.auxiliary, prior, data_count)
        of_value = fit(jax.vmap(params.value)(batch.obs))
        return of_value + sum(fit(samples[k]) for k in range(draws)) + jnp.sum(penalties)

    def beliefs(params: Params, obs: Array, key: RandomKey) -> Beliefs:
        quantiles = params.value(obs)
        samples = posterior.predict(params.auxiliary, obs[None], jax.random.split(key, draws))[:, 0]
        return Beliefs(
            mean=quantiles.mean(axis=-1),
            epistemic_variance=decompose(samples).epistemic,
            aleatoric_variance=ALEATORIC[config.aleatoric](quantiles, samples),
            quantiles=quantiles,
        )

    return build_agent(
        config,
        init=init,
        loss=loss,
        target=lambda params: params.value,
        beliefs=beliefs,
        explore=EXPLORERS.resolve(config.explorer).make(config, risk),
        exploit=greedy(risk),
        optimiser=optimiser,
    )


KIND = AgentKind(
    "UADQN",
    "UA-DQN: both uncertainties, Thompson exploration, an attitude to risk.",
    Config,
    make,
)
