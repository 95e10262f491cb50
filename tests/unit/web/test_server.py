"""What the server tells of a model is what the model believes, and files have it without the server."""

import json
import re

import numpy as np
import pytest

import surefoot
from surefoot.errors import UserError
from surefoot.runs.directory import last_checkpoint
from surefoot.web.recording import record, write_html, write_moving_picture
from surefoot.web.server import _actions
from surefoot.web.watched_model import WatchedModel
from tests.small_models import CLIFF, QUICK, have_equal_learners
from tests.unit.web.conftest import XSS, Served, status_of


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A directory of runs with one run, and its model."""
    home = tmp_path_factory.mktemp("trained")
    model = surefoot.UADQN(CLIFF, **QUICK).learn(60, out=home / "run", log_every=20, progress=False)
    return home, model


@pytest.fixture
def asked(trained):
    """Asks a server of the run; gives the JSON of its answer."""
    served = Served(trained[0])

    def ask(target):
        answer = served.allowed(target)
        assert status_of(answer) == 200, answer
        return json.loads(answer.split(b"\r\n\r\n", 1)[1])

    yield ask
    served.close()


def test_beliefs_and_choices_are_those_of_the_model(asked, trained):
    _, model = trained
    told = asked("/api/model?run=run")
    assert told["actions"] == ["up", "right", "down", "left"]
    assert told["trained_steps"] == 60
    steps = asked("/api/episode?run=run&actions=0.1&risk=mean-sd:0.5&count=3")["steps"]
    env = surefoot.envs.windy_cliff_for_gymnasium()
    obs, _ = env.reset(seed=0)
    for time, action in enumerate([0, 1]):
        beliefs, shown = model.beliefs(obs), steps[time]["beliefs"]
        for name in ("mean", "epistemic_variance", "aleatoric_variance"):
            np.testing.assert_allclose(shown[name], getattr(beliefs, name), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            shown["quantiles"], np.sort(beliefs.quantiles, axis=-1), rtol=1e-4, atol=1e-6
        )
        assert steps[time]["greedy"] == model.predict(obs, risk_aversion=0.5)[0]
        assert steps[time]["action"] == action
        obs = env.step(action)[0]


def test_the_same_question_has_the_same_answer_whatever_was_asked_between(asked):
    question = "/api/episode?run=run&seed=4&exploration=8&count=15"
    first = asked(question)
    asked("/api/episode?run=run&seed=4&actions=3x5&risk=mean-sd:2&count=15")
    asked("/api/episode?run=run&seed=5&from=3&count=4&estimator=biased")
    assert asked(question) == first
    parts = [asked(f"{question[:-8]}from={start}&count=5")["steps"] for start in (0, 5, 10)]
    assert sum(parts, []) == first["steps"][:15]  # noqa: RUF017


def test_a_model_that_only_answers_has_the_same_networks_and_no_experience(trained):
    home, model = trained
    checkpoint = last_checkpoint(home / "run")
    light, whole = (surefoot.load(checkpoint, experience=each) for each in (False, True))
    assert have_equal_learners(light, whole)
    assert have_equal_learners(light, model)
    assert light.num_timesteps == whole.num_timesteps == 60
    assert light._live_run._train_state is None
    light.learn(5, progress=False)


def test_beliefs_of_equal_seeds_are_equal_where_a_posterior_is_sampled_at_each_call():
    model = surefoot.UADQN(CLIFF, posterior="mc-dropout", **QUICK)
    obs = np.ones(11, np.float32)
    one, same, other, free = (model.beliefs(obs, seed=seed).members for seed in (1, 1, 2, None))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, free)


def test_an_exported_page_holds_the_episode_and_no_name_can_end_its_script(trained, tmp_path):
    home, _ = trained
    recorded = record(home, "run", 0, ("", 0.0), 5)
    hostile = recorded._replace(summary={**recorded.summary, "name": f"</script>{XSS}"})
    write_html(hostile, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert XSS not in page
    found = re.search(r'<script type="application/json" id="recorded">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(found)["steps"] == recorded.steps
    assert json.loads(found)["run"]["name"] == f"</script>{XSS}"
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert not re.search(r"^(import|export) ", page, re.MULTILINE)


def test_a_moving_picture_needs_a_name_that_says_its_format(trained, tmp_path):
    recorded = record(trained[0], "run", 0, ("", 0.0), 2)
    with pytest.raises(UserError, match=r"record: got a.avi, accepted: .*\.gif"):
        write_moving_picture(recorded, tmp_path / "a.avi", 4.0)


def test_actions_in_an_address_are_runs_of_one_action():
    assert _actions("1x3.0.2x1") == [1, 1, 1, 0, 2]
    assert _actions("") == []


def test_a_model_that_acts_by_a_budget_is_refused_in_one_line(tmp_path):
    static = {"objective": "static", "risk": "cvar:0.2", "min_return": -15.0, "max_return": 9.0}
    surefoot.UADQN(CLIFF, **QUICK, **static).save(tmp_path / "static")
    with pytest.raises(UserError, match="objective: got static"):
        WatchedModel(tmp_path / "static")
