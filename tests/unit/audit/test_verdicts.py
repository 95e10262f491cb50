"""The audit can say yes, and it can say no: agents whose beliefs are right, over-confident, or noise."""

from dataclasses import asdict

import numpy as np
import pytest
from scipy.special import ndtr

from surefoot.audit import Config, audit
from surefoot.claims import Verdict
from tests.unit.audit import toy


def audited(beliefs, **settings):
    return audit(toy.subject_of(beliefs), Config(**{**asdict(toy.SMALL), **settings}))


def verdicts(found):
    return {claim.name: claim.verdict for claim in found.claims}


@pytest.fixture(scope="module")
def right():
    return audited(toy.exact_beliefs, recalibrate=True)


def test_an_agent_that_believes_the_exact_distribution_passes(right):
    assert len(right.claims) == 6
    assert set(verdicts(right).values()) == {Verdict.HOLDS}, right.claims


def test_its_measurements_are_those_of_the_exact_distribution(right):
    rows = right.sections[0].rows
    for part in (0.5, 0.8, 0.9):
        low, high = rows[f"coverage of the central {part:.0%} interval"].interval
        assert low - 0.02 <= part <= high + 0.02
    low, high = rows["believed / actual spread of returns"].interval
    assert low <= 1 <= high
    # The mean is believed too high by a fifth of the width, 0.6 on average, times the steps left, 2.
    low, high = rows["believed mean less mean return"].interval
    assert low <= 0.24 <= high


def test_recalibrating_what_is_right_changes_little(right):
    read, levels = ndtr(right.recalibration.scores), np.asarray(right.recalibration.levels)
    assert np.all(np.diff(read) >= 0)
    # Fitted on 48 episodes, it errs by about 1 / 49 of probability on the wide side in each tail.
    assert np.abs(read - levels).max() < 0.12
    assert right.sections[-1].rows["coverage of the central 80% interval, after"].measured == pytest.approx(
        2 * 0.9 * 49 / 48 - 1, abs=0.06
    )


@pytest.fixture(scope="module")
def over_confident():
    return audited(toy.over_confident, recalibrate=True)


def test_an_over_confident_agent_fails(over_confident):
    found, said = over_confident, verdicts(over_confident)
    assert said["coverage of the central 80% interval"] == Verdict.FAILS
    assert said["believed / actual spread of returns"] == Verdict.FAILS
    assert said["epistemic sd ranks return errors: sparsification gain"] == Verdict.HOLDS
    # Its intervals reach half as far as they should: 80 % ones cover what 48 % ones should.
    assert found.sections[0].rows["coverage of the central 80% interval"].measured == pytest.approx(
        0.48, abs=0.06
    )
    assert found.sections[0].rows["believed / actual spread of returns"].measured == pytest.approx(
        0.5, abs=0.06
    )


def test_recalibration_mends_an_over_confident_agent_on_episodes_that_it_was_not_fitted_on(over_confident):
    found = over_confident
    assert verdicts(found)["coverage of the central 80% interval, recalibrated"] == Verdict.HOLDS
    rows = found.sections[-1].rows
    assert rows["coverage of the central 80% interval, before"].measured < 0.6
    after = rows["coverage of the central 80% interval, after"].measured
    assert after == pytest.approx(2 * 0.9 * 49 / 48 - 1, abs=0.06)


def test_an_agent_whose_epistemic_uncertainty_is_noise_fails():
    found = audited(toy.wrong)
    said = verdicts(found)
    assert said["AUROC of epistemic sd, visited or shuffled observations"] == Verdict.FAILS
    assert said["epistemic sd ranks return errors: sparsification gain"] != Verdict.HOLDS
    assert said["coverage of the central 80% interval"] == Verdict.HOLDS
    low, high = found.sections[1].rows["sparsification gain, return error"].interval
    assert low < 0 < high


def test_what_an_agent_does_not_estimate_is_not_applicable_and_never_guessed():
    def means_alone(params, obs, key):
        found = toy.exact_beliefs(params, obs, key)
        return type(found)(mean=found.mean)

    found = audited(means_alone, recalibrate=True)
    assert found.claims == []
    assert found.recalibration is None
    missing = [text for section in found.sections for text in section.not_applicable]
    assert len(missing) == 6
    assert all("this agent has no" in text for text in missing)
