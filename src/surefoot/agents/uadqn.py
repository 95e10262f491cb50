"""UA-DQN, the paper's agent: a QR-DQN for values, auxiliary networks for both uncertainties (Algorithm 1)."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.agents.base import Learning, accept, assemble, of_actions, quantile_targets
from surefoot.architectures import Architecture
from surefoot.estimators import decompose, quantile_variance
from surefoot.losses import LEVELS, quantile_loss
from surefoot.policies import NOISE, risk_averse, thompson
from surefoot.posteriors import anchored
from surefoot.types import Agent, Beliefs, RandomKey, Scalar, Transition


@dataclass(frozen=True, kw_only=True)
class Config(Learning):
    """UA-DQN's settings."""

    quantiles: int = 50
    """Quantiles of each action's return (N)."""
    kappa: float = 0.0
    """Width of the quadratic part of the quantile Huber loss; 0 is the paper's pinball loss."""
    levels: Literal["paper", "midpoints"] = "paper"
    """Quantile levels: i / (N + 1), or the released code's (i - 1/2) / N."""
    risk_aversion: float = 0.0
    """How many aleatoric standard deviations are taken off an action's mean (lambda)."""
    exploration: float = 0.2
    """Factor of the epistemic variance in Thompson sampling (beta)."""
    thompson: Literal["step", "episode"] = "step"
    """How long a Thompson sample lasts."""
    auxiliary_networks: int = 2
    """Networks sampled from the posterior (K)."""
    aleatoric: Literal["unbiased", "biased", "released"] = "unbiased"
    """Aleatoric estimator: eq. 7; variant 1, value network's quantiles; eq. 7 centred over all actions."""
    prior_gain: float = 3.0
    """Gain of the orthogonal anchors of the auxiliary networks."""
    prior_scale: Literal["weights", "all"] = "weights"
    """What the prior's scale is the spread of: the weights, or the zero biases too, as the released code."""
    noise_scale: float = 1.0
    """Scale of the noise in the data."""

    def __post_init__(self) -> None:
        """Validate."""
        super().__post_init__()
        accept("quantiles", self.quantiles, self.quantiles >= 2, "from 2")
        accept("auxiliary_networks", self.auxiliary_networks, self.auxiliary_networks >= 2, "from 2")
        for name in ("kappa", "risk_aversion", "exploration"):
            accept(name, getattr(self, name), getattr(self, name) >= 0, "from 0")
        for name in ("prior_gain", "noise_scale"):
            accept(name, getattr(self, name), getattr(self, name) > 0, "above 0")


RELEASED = {"levels": "midpoints", "aleatoric": "released", "prior_scale": "all"}
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
PRIOR_SCALES = {"weights": anchored.weight_std, "all": anchored.array_std}


def make(config: Config, architecture: Architecture, actions: int) -> Agent:
    """UA-DQN for this many actions."""
    shape = (actions, config.quantiles)
    network = architecture.network(shape, config.gain)
    posterior = anchored.make(
        architecture.network(shape, config.prior_gain),
        config.auxiliary_networks,
        prior_scale=PRIOR_SCALES[config.prior_scale],
        weight=anchored.by_noise(config.noise_scale),
    )
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

        def mismatch(values: Float[Array, "B A N"]) -> Scalar:
            quantiles = of_actions(values, batch.action)
            return jnp.mean(quantile_loss(quantiles, targets, levels, config.kappa))

        samples = posterior.predict(params.auxiliary, batch.obs, jax.random.split(key, draws))
        penalties = posterior.penalty(params.auxiliary, prior, data_count)
        of_value = mismatch(jax.vmap(params.value)(batch.obs))
        return of_value + sum(mismatch(samples[k]) for k in range(draws)) + jnp.sum(penalties)

    def beliefs(params: Params, obs: Array, key: RandomKey) -> Beliefs:
        quantiles = params.value(obs)
        samples = posterior.predict(params.auxiliary, obs[None], jax.random.split(key, draws))[:, 0]
        return Beliefs(
            mean=quantiles.mean(axis=-1),
            epistemic_variance=decompose(samples).epistemic,
            aleatoric_variance=ALEATORIC[config.aleatoric](quantiles, samples),
            quantiles=quantiles,
        )

    return assemble(
        config,
        init=init,
        loss=loss,
        target=lambda params: params.value,
        beliefs=beliefs,
        explore=thompson(config.exploration, config.risk_aversion, NOISE[config.thompson]),
        exploit=risk_averse(config.risk_aversion),
    )
