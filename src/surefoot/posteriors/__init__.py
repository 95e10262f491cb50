"""Ways of sampling networks from the posterior, one a file."""

from surefoot.posteriors import (
    anchored,
    bayes_by_backprop,
    ensemble,
    epinet,
    mc_dropout,
    prior_functions,
)
from surefoot.registry import Registry
from surefoot.types import PosteriorKind

POSTERIORS = Registry(
    "posterior",
    PosteriorKind,
    {
        "anchored": anchored.KIND,
        "mc-dropout": mc_dropout.KIND,
        "bayes-by-backprop": bayes_by_backprop.KIND,
        "ensemble": ensemble.KIND,
        "prior-functions": prior_functions.KIND,
        "epinet": epinet.KIND,
    },
)
