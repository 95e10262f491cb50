"""The paper's experiments, one a file: what to run, what it claims, how it is drawn."""

from surefoot.experiments import cliff, propositions, toy, widths
from surefoot.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each for each in (propositions.EXPERIMENT, toy.EXPERIMENT, widths.EXPERIMENT, cliff.EXPERIMENT)
}
