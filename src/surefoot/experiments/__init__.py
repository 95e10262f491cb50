"""The experiments, one a file: what is run, which claims it checks, and its figure."""

from surefoot.experiments import (
    audit,
    calibration,
    cliff,
    deep_sea,
    hand_over,
    hyperparameter_search,
    minatar,
    network_width,
    posteriors,
    propositions,
    time_to_score,
    toy,
)
from surefoot.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        propositions,
        toy,
        network_width,
        cliff,
        minatar,
        hyperparameter_search,
        posteriors,
        deep_sea,
        calibration,
        audit,
        time_to_score,
        hand_over,
    )
}
"""All experiments by their names on the command line."""
