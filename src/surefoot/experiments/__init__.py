"""The paper's experiments, one a file: what to run, what it claims, how it is drawn."""

from surefoot.experiments import cliff, hyperparameter_search, minatar, network_width, propositions, toy
from surefoot.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (propositions, toy, network_width, cliff, minatar, hyperparameter_search)
}
