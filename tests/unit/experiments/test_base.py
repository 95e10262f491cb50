"""The rule for runs that are too short or too few to decide a claim, and tables."""

from dataclasses import dataclass, replace

import pytest
from matplotlib.figure import Figure

from surefoot.claims import Verdict, above, claim, exact_claim
from surefoot.experiments import EXPERIMENTS
from surefoot.experiments.base import (
    DirectExperiment,
    ExperimentConfig,
    Outcome,
    verdicts_allowed,
)
from surefoot.settings import bounded


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    seeds: int = bounded(10, at_least=1)
    steps: int = bounded(100, at_least=1)


EXPERIMENT = DirectExperiment(
    name="synthetic",
    title="",
    intervals="",
    tables=(),
    config=Config,
    min_seeds=5,
    run=lambda *_: Outcome([], {}, Figure()),
)

CLAIMS = [
    claim("a", paper="b", measured=0, interval=interval, criterion=above(0))
    for interval in ((1, 2), (-2, -1), (-1, 1))
]
MEASURED = [Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED]
UNDECIDED = [Verdict.UNDECIDED] * 3


def verdicts(experiment, **settings):
    return [each.verdict for each in verdicts_allowed(experiment, Config(**settings), CLAIMS)]


@pytest.mark.parametrize("settings", [{}, {"seeds": 5}, {"seeds": 50, "steps": 1_000}])
def test_enough_runs_of_full_length_decide(settings):
    assert verdicts(EXPERIMENT, **settings) == MEASURED


@pytest.mark.parametrize("settings", [{"steps": 99}, {"seeds": 4}, {"seeds": 1, "steps": 1}])
def test_runs_that_are_too_short_or_too_few_decide_nothing(settings):
    assert verdicts(EXPERIMENT, **settings) == UNDECIDED


@pytest.mark.parametrize("settings", [{}, {"steps": 99}, {"seeds": 4}])
def test_mathematical_claims_are_decided_in_any_case(settings):
    assert verdicts(replace(EXPERIMENT, empirical=False), **settings) == MEASURED


def test_claims_about_exact_quantities_are_decided_in_any_case():
    exact = [exact_claim("a", paper="b", measured=measured, criterion=above(0)) for measured in (1.0, -1.0)]
    found = verdicts_allowed(EXPERIMENT, Config(seeds=1, steps=1), exact)
    assert [each.verdict for each in found] == [Verdict.HOLDS, Verdict.FAILS]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_defaults_of_every_experiment_are_enough_to_decide(name):
    experiment = EXPERIMENTS[name]
    found = verdicts_allowed(experiment, experiment.config(), CLAIMS)
    assert [each.verdict for each in found] == MEASURED


@pytest.mark.parametrize("name", ["minatar", "search"])
def test_experiments_on_minatar_need_five_seeds(name):
    experiment = EXPERIMENTS[name]
    for seeds, expected in ((4, UNDECIDED), (5, MEASURED)):
        found = verdicts_allowed(experiment, experiment.config(seeds=seeds), CLAIMS)
        assert [each.verdict for each in found] == expected


def test_the_propositions_are_the_only_mathematical_experiment():
    assert [name for name, each in EXPERIMENTS.items() if not each.empirical] == ["propositions"]
