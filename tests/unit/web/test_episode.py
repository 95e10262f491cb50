"""Episodes that can be gone back in: the same moments whichever way they are reached, computed once."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from surefoot.envs.checked import CheckedEnv
from surefoot.errors import UserError
from surefoot.risk import RISK_MEASURES, parse_risk
from surefoot.types import Beliefs
from surefoot.web import episode
from surefoot.web.choices import Attitude, biased_variance, choose, measure_options, with_estimator
from surefoot.web.episode import EpisodeForest, EpisodeTree, beliefs_as_json
from surefoot.web.simulator import ReplaySimulator, simulator_of
from tests.small_models import CLIFF

UP, RIGHT = 0, 1
BELIEFS = Beliefs(
    mean=np.array([1.0, 2.0, 0.0], np.float32),
    epistemic_variance=np.array([4.0, 0.01, 0.0], np.float32),
    aleatoric_variance=np.array([0.0, 4.0, -1.0], np.float32),
    quantiles=np.array([[0.0, 2.0], [2.0, 2.0], [0.0, 0.0]], np.float32),
)


class Drift(gymnasium.Env):
    """A walk whose observations sum the actions and a random number from the seed."""

    observation_space = Box(-1e6, 1e6, (1,), np.float64)
    action_space = Discrete(2)

    def __init__(self, *, forgets_its_seed=False):
        self.forgets_its_seed = forgets_its_seed

    def reset(self, *, seed=None, options=None):
        super().reset(seed=None if self.forgets_its_seed else seed, options=options)
        self.at = self.np_random.random()
        return np.array([self.at]), {}

    def step(self, action):
        self.at += 10 * action + self.np_random.random()
        return np.array([self.at]), float(action), False, self.at > 1e5, {"high": bool(self.at > 30)}


def played(simulator, seed, actions):
    moments = [simulator.start(seed)]
    for action in actions:
        moments.append(simulator.after(moments[-1], action))
    return moments


SIMULATORS = {
    "JAX": lambda: simulator_of(CLIFF, {})[0],
    "Gymnasium": lambda: ReplaySimulator(CheckedEnv(Drift(), "d"), renders=False),
}


@pytest.mark.parametrize("kind", SIMULATORS)
def test_a_moment_is_the_same_after_other_actions_were_tried_from_earlier_ones(kind):
    simulator = SIMULATORS[kind]()
    straight = played(SIMULATORS[kind](), 3, [0, 1, 1])
    first = simulator.start(3)
    second = simulator.after(first, 0)
    simulator.after(first, 1)
    played(simulator, 8, [1, 1])
    third = simulator.after(second, 1)
    simulator.after(second, 0)
    fourth = simulator.after(third, 1)
    for one, other in zip(straight, [first, second, third, fourth], strict=True):
        np.testing.assert_array_equal(one.obs, other.obs)
        assert one[3:] == other[3:]


def test_an_episode_in_jax_is_the_one_that_gymnasium_plays_with_the_same_seed():
    env = gymnasium.make(CLIFF)
    simulator = SIMULATORS["JAX"]()
    for seed in range(12):
        env.reset(seed=seed)
        moment, is_end = simulator.start(seed), False
        while not is_end:
            moment = simulator.after(moment, RIGHT)
            obs, reward, terminated, _, info = env.step(RIGHT)
            is_end = moment.is_end
            np.testing.assert_array_equal(moment.obs, obs)
            assert (moment.reward, moment.terminated) == (reward, terminated)
            assert ("fell" in moment.events) == info["fell"]


def test_an_environment_that_does_not_repeat_itself_is_named():
    simulator = ReplaySimulator(CheckedEnv(Drift(forgets_its_seed=True), "forgetful"), renders=False)
    first = simulator.start(0)
    simulator.after(simulator.after(first, 1), 1)
    with pytest.raises(UserError, match="forgetful does not repeat"):
        simulator.after(first, 0)


def counted_tree(seed=0):
    asked = []

    def believe(_obs, seed):
        asked.append(seed)
        return BELIEFS

    return EpisodeTree(SIMULATORS["Gymnasium"](), believe, seed), asked


def actions_of(steps):
    return [each.action for each in steps]


def test_given_actions_are_taken_and_then_the_attitude_decides():
    tree, _ = counted_tree()
    neutral, averse = Attitude(), Attitude(parse_risk("mean-sd:1"))
    assert actions_of(tree.follow([0, 0], neutral, 0, 4)) == [0, 0, 1, 1]
    assert actions_of(tree.follow([1], averse, 0, 3)) == [1, 0, 0]
    assert [each.node.time for each in tree.follow([1], averse, 2, 2)] == [2, 3]


def test_an_attitude_that_changes_computes_no_belief_again():
    tree, asked = counted_tree()
    tree.follow([0, 0, 0], Attitude(), 0, 4)
    before = len(asked)
    for aversion in range(20):
        tree.follow([0, 0, 0], Attitude(parse_risk(f"mean-sd:{aversion}")), 0, 4)
    assert len(asked) == before == 4


def test_equal_seeds_explore_alike_and_other_seeds_do_not():
    exploring = Attitude(exploration=4.0)
    one, same, other = (actions_of(counted_tree(seed)[0].follow([], exploring, 0, 40)) for seed in (0, 0, 1))
    assert one == same != other


def test_moments_that_are_kept_are_bounded(monkeypatch):
    monkeypatch.setattr(episode, "MAX_NODES", 100)
    forest = EpisodeForest(SIMULATORS["Gymnasium"](), lambda *_: BELIEFS, 2)
    for seed in range(12):
        assert len(forest.follow(seed, [], Attitude(), 0, 30)) == 30
    assert list(forest._trees) == [9, 10, 11]


def test_actions_that_do_not_exist_are_refused():
    forest = EpisodeForest(SIMULATORS["Gymnasium"](), lambda *_: BELIEFS, 2)
    with pytest.raises(UserError, match="accepted: numbers from 0 to 1"):
        forest.follow(0, [2], Attitude(), 0, 1)


def test_the_best_action_is_the_mean_less_aversion_times_the_aleatoric_deviation():
    noise = np.random.default_rng(0)
    for aversion, best in ((0.0, 1), (0.4, 1), (0.6, 0)):  # 2 - 2 aversion against 1.
        choice = choose(BELIEFS, Attitude(parse_risk(f"mean-sd:{aversion}")), noise)
        assert choice.chosen == choice.greedy == best
        np.testing.assert_allclose(choice.values, [1, 2 - 2 * aversion, 0], rtol=1e-6)


def test_the_biased_estimator_is_the_variance_of_the_quantiles():
    np.testing.assert_allclose(biased_variance(BELIEFS), [2, 0, 0])
    assert with_estimator(BELIEFS, "own") is BELIEFS
    averse = Attitude(parse_risk("mean-sd:1"))
    chosen = [
        choose(BELIEFS, averse._replace(estimator=each), np.random.default_rng(0)).chosen
        for each in ("own", "biased")
    ]
    assert chosen == [0, 1]


def test_thompson_sampling_has_the_chances_of_its_normal_distributions():
    # With beta 1: N(1, 4) exceeds N(2, 0.01) with probability Phi(-1 / sqrt(4.01)) = 0.3088.
    attitude = Attitude(exploration=1.0)
    found = [choose(BELIEFS, attitude, np.random.default_rng(seed)).chosen for seed in range(4_000)]
    assert np.mean(np.array(found) == 0) == pytest.approx(0.3088, abs=4 * np.sqrt(0.3088 * 0.6912 / 4_000))


def test_without_epistemic_uncertainty_exploration_is_a_chance_of_a_random_action():
    blind = Beliefs(mean=BELIEFS.mean)
    rates = []
    for epsilon in (0.0, 0.3, 1.0):
        chosen = [
            choose(blind, Attitude(exploration=epsilon), np.random.default_rng(i)).chosen
            for i in range(3_000)
        ]
        rates.append(np.mean(np.array(chosen) != 1))
    assert rates == pytest.approx([0, 0.2, 2 / 3], abs=4 * np.sqrt(0.25 / 3_000))


def test_a_page_cannot_make_the_server_import_a_module():
    for risk in ("os:system", "tests.never_imported:measure:1", "sys:exit"):
        with pytest.raises(UserError, match="risk: got"):
            Attitude.parsed(risk, 0.0, "own")


def test_every_registered_risk_measure_is_offered_and_none_that_an_agent_cannot_compute():
    members = np.stack([BELIEFS.mean, BELIEFS.mean + 1])
    offered = {each.name: each for each in measure_options(BELIEFS._replace(members=members))}
    assert set(offered) == set(RISK_MEASURES)
    for each in offered.values():
        parse_risk(each.example)
        if each.neutral is not None:
            assert RISK_MEASURES[each.name].accepts(each.neutral)
            assert RISK_MEASURES[each.name].accepts(each.averse)
    assert "mean-sd" not in {each.name for each in measure_options(Beliefs(mean=BELIEFS.mean))}


def test_what_is_not_finite_is_null_in_json():
    found = beliefs_as_json(BELIEFS._replace(mean=np.array([np.nan, np.inf, 1.0])))
    assert found["mean"] == [None, None, 1.0]
    assert found["aleatoric_variance"] == [0.0, 4.0, -1.0]
