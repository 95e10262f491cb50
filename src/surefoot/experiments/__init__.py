"""The paper's experiments, one a file: what to run, what it claims, how it is drawn."""

from surefoot.experiments import cliff, minatar, propositions, search, toy, widths
from surefoot.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (propositions, toy, widths, cliff, minatar, search)
}
