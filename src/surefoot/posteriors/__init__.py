"""Ways of sampling networks from the posterior, one a file."""

from surefoot.posteriors import anchored, mc_dropout
from surefoot.registry import Registry
from surefoot.types import PosteriorKind

POSTERIORS = Registry("posterior", PosteriorKind, {"anchored": anchored.KIND, "mc-dropout": mc_dropout.KIND})
