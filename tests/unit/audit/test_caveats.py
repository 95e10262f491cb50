"""What a report says that numbers cannot mean, by the settings they were learned with."""

import pytest

import surefoot
from tests.small_models import CLIFF, QUICK


def caveats(agent, **settings):
    from surefoot.audit.caveats import caveats_of

    return " ".join(caveats_of(getattr(surefoot, agent)(CLIFF, **settings, **QUICK).spec))


def test_the_papers_settings_have_more_caveats_than_calibrated_ones():
    paper = caveats("UADQN", preset="minatar")
    assert "1/(N+1) = 0.02" in paper
    assert "epistemic uncertainty is one-step" in paper
    calibrated = caveats("UADQN", preset="calibrated", targets="own")
    assert calibrated == ""


@pytest.mark.parametrize(
    ("agent", "settings", "sentence"),
    [
        ("UADQN", {"kappa": 1.0}, "kappa 1: the quantile Huber loss"),
        ("UADQN", {"aleatoric": "biased"}, "epistemic variance is in the aleatoric one"),
        ("UADQN", {"risk": "mean-sd:0.5"}, "greedy by the mean, and so is this audit"),
        ("UADQN", {"risk": "cvar:0.5", "objective": "iterated"}, "the agent's own policy, under cvar:0.5"),
        ("QRDQN", {}, "it has no epistemic uncertainty"),
        ("BootstrappedDQN", {}, "it has no aleatoric uncertainty"),
        ("DQN", {}, "it has neither uncertainty"),
    ],
)
def test_settings_and_agents_have_their_own_caveats(agent, settings, sentence):
    assert sentence in caveats(agent, **settings)
