"""Randomised prior functions (Osband et al., 2018): each draw adds a fixed random network to a trained one.

Where there are data, the trained network learns to cancel the fixed one; elsewhere, draws differ as their
prior functions do. Departure: targets are not perturbed and all draws see all data, so that draws agree
wherever there are data, however noisy.
"""

from dataclasses import dataclass

from surefoot.networks import with_prior_function
from surefoot.posteriors.ensemble import ensemble
from surefoot.settings import Settings, bounded
from surefoot.types import NetworkFactory, Posterior, PosteriorKind


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of randomised prior functions."""

    trained_gain: float = bounded(2**0.5, above=0)
    """Gain of the orthogonal initial weights of the trained networks."""
    prior_function_gain: float = bounded(2**0.5, above=0)
    """Gain of the orthogonal weights of the fixed networks."""
    prior_function_scale: float = bounded(3.0, at_least=0)
    """Factor of the fixed networks' outputs (beta of the article)."""


def make(config: Config, networks: NetworkFactory, draws: int) -> Posterior:
    """An ensemble whose networks are sums of a trained and a fixed one."""
    network = with_prior_function(
        networks(gain=config.trained_gain),
        networks(gain=config.prior_function_gain),
        config.prior_function_scale,
    )
    return ensemble(network, draws)


KIND = PosteriorKind(Config, make)
