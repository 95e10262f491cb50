"""Evaluation: side by side in JAX as one after the other through Gymnasium, bounded, and stoppable."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import surefoot
from surefoot.runs import schedule as schedules
from surefoot.runs.log_files import read_metrics
from surefoot.runs.schedule import AUTO, TrainingSchedule
from surefoot.runs.training_loop import Evaluator
from surefoot.training import evaluation
from surefoot.training.evaluation import Evaluation
from tests.small_models import CLIFF, QUICK


@pytest.fixture(scope="module")
def model():
    return surefoot.QRDQN(CLIFF, **QUICK).learn(60, progress=False)


@pytest.mark.parametrize("count", [1, 5, 21])
def test_episodes_side_by_side_are_those_that_gymnasium_plays(model, count, monkeypatch):
    monkeypatch.setattr(evaluation, "MAX_SIDE_BY_SIDE", 8)
    together = model.evaluate(count, seed=3)
    one_by_one = model.evaluate(count, seed=3, env=gymnasium.make(CLIFF))
    np.testing.assert_array_equal(together.returns, one_by_one.returns)
    np.testing.assert_array_equal(together.lengths, one_by_one.lengths)
    assert not together.cut_off.any()
    # A step costs 1 and the goal gives 10: whoever has paid for every step has fallen, or run out of time.
    fell = (together.returns == -together.lengths) & (together.lengths < 15)
    np.testing.assert_array_equal(together.events["fell"], fell)
    np.testing.assert_array_equal(one_by_one.events["fell"], fell)


def test_every_episode_is_reported_once(model):
    reported = []
    model.evaluate(7, after_episode=lambda: reported.append(1))
    assert len(reported) == 7


def test_a_policy_with_random_beliefs_has_a_key_for_every_step():
    """With constant keys, masks of dropout would be the same at every step, and so would the actions."""
    model = surefoot.UADQN(
        Endless(), posterior="mc-dropout", auxiliary_networks=2, risk="mean-sd:50", **QUICK
    )
    actions = []
    env = Endless(actions)
    model.evaluate(1, env=env, max_episode_steps=60)
    assert len(set(actions)) > 1


class Endless(gymnasium.Env):
    """Never ends; records its actions."""

    observation_space = Box(0, 1, (2,))
    action_space = Discrete(3)

    def __init__(self, actions=None):
        self.actions = [] if actions is None else actions

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return np.full(2, 0.5, np.float32), {}

    def step(self, action):
        self.actions.append(int(action))
        return np.full(2, 0.5, np.float32), 1.0, False, False, {}


def test_an_endless_episode_is_cut_off_and_marked():
    model = surefoot.DQN(Endless(), **QUICK)
    found = model.evaluate(3, env=Endless(), max_episode_steps=17)
    np.testing.assert_array_equal(found.lengths, [17, 17, 17])
    np.testing.assert_array_equal(found.returns, [17.0, 17.0, 17.0])
    assert found.cut_off.all()


def test_an_episode_side_by_side_is_cut_off_and_marked(model):
    whole = model.evaluate(16, seed=1)
    cut = model.evaluate(16, seed=1, max_episode_steps=3)
    np.testing.assert_array_equal(cut.cut_off, whole.lengths > 3)
    np.testing.assert_array_equal(cut.lengths, np.minimum(whole.lengths, 3))


def test_automatic_evaluation_of_an_endless_environment_stays_within_its_share(tmp_path, monkeypatch):
    monkeypatch.setattr(schedules, "AUTO_EVERY", 50)
    monkeypatch.setattr(schedules, "MIN_LAST_STEPS", 40)
    played = []
    surefoot.DQN(Endless(), **QUICK).learn(
        130, out=tmp_path, eval_every=AUTO, eval_env=Endless(played), log_every=50, progress=False
    )
    assert len(played) == 40
    last = read_metrics(tmp_path)[-1]
    assert (last["step"], last["eval/mean_reward"], last["eval/episodes_cut_off"]) == (130, 40, 1)
    assert surefoot.load(tmp_path, Endless()).num_timesteps == 130


def schedule(steps, eval_every=AUTO, episodes=10):
    return TrainingSchedule(
        steps=steps,
        log_every=1_000,
        eval_every=eval_every,
        eval_episodes=episodes,
        checkpoint_every=1_000,
        if_disk_full="stop",
    )


def test_long_episodes_are_evaluated_seldom_and_short_ones_often():
    """Ten episodes one after the other; at most a tenth of the steps of training."""

    def evaluated_at(length):
        spent, at = 0, []
        for step in range(2_500, 100_001, 2_500):
            if schedule(10**6).evaluation_at(step, spent, length, 1) is not None:
                spent, at = spent + 10 * length, [*at, step]
        return at

    assert evaluated_at(20) == list(range(2_500, 100_001, 2_500))
    assert evaluated_at(500) == [50_000, 100_000]
    assert evaluated_at(2_500) == []


def test_a_policy_that_gets_stuck_without_exploring_is_cut_off():
    """Episodes of training have 50 steps; those of the evaluation may never end."""
    plan = schedule(10**6).evaluation_at(5_000, 0, 50, 1)
    assert (plan.episodes, plan.max_steps) == (10, 100)
    last = schedule(5_000).last_evaluation(5_000, 500, 50, 1)
    assert (last.episodes, last.max_steps) == (1, 1_000)
    assert schedule(20_000).last_evaluation(20_000, 0, 2_501, 16).max_steps == 5_002


def test_episodes_side_by_side_count_once():
    assert schedule(10**6).evaluation_at(25_000, 0, 2_500, 10).episodes == 10
    assert schedule(10**6).evaluation_at(22_500, 0, 2_500, 10) is None


def test_an_evaluation_of_several_batches_costs_the_longest_episode_of_each():
    evaluator = Evaluator(lambda *_: None, side_by_side=2, seed=0)
    lengths = np.array([5, 3, 2, 7, 4])
    assert evaluator.steps_of(Evaluation(lengths * 1.0, lengths, lengths < 0, {})) == 5 + 7 + 4
    assert (
        Evaluator(lambda *_: None, side_by_side=1, seed=0).steps_of(
            Evaluation(lengths * 1.0, lengths, lengths < 0, {})
        )
        == lengths.sum()
    )
    assert schedule(10**6, episodes=100).evaluation_at(25_000, 0, 2_500, 16) is None
    assert schedule(10**6, episodes=100).evaluation_at(175_000, 0, 2_500, 16).episodes == 100


def test_the_end_is_evaluated_with_what_is_left_of_the_share_and_at_least_one_episode():
    assert schedule(20_000).last_evaluation(20_000, 0, 500, 1).episodes == 4
    assert schedule(20_000).last_evaluation(20_000, 2_000, 500, 1).episodes == 1
    assert schedule(20_000).last_evaluation(20_000, 2_000, 500, 10).episodes == 10
    assert schedule(20_000).last_evaluation(15_000, 0, 500, 1) is None
    assert schedule(20_000, 1_000).last_evaluation(20_000, 0, 500, 1) is None


def test_a_fixed_interval_is_kept_whatever_it_costs():
    assert schedule(20_000, 1_000).evaluation_at(1_000, 10**9, 10**6, 1).episodes == 10
    assert schedule(20_000, 1_000).evaluation_at(1_500, 0, 1, 1) is None
    assert schedule(20_000, None).evaluation_at(1_000, 0, 1, 1) is None
