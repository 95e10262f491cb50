"""Returns from visited states: exact means and spreads, replayed Gymnasium episodes, time limits."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.wrappers import TimeLimit

import surefoot
from surefoot.audit import rollouts
from surefoot.audit.rollouts import CONTINUED, REALISED, REPLAYED, Rollouts
from surefoot.audit.subject import Subject
from surefoot.envs import windy_cliff, windy_cliff_exact
from surefoot.envs.resolve import resolve_env
from surefoot.experiments.cliff_claims import RISKY_POLICY
from surefoot.types import Beliefs
from tests.unit.audit import toy


def ledge_walker(obs):
    """Beliefs that are greedy for going right, and value it by 4."""
    return Beliefs(np.broadcast_to(np.array([0.0, 4.0, 0.0, 0.0]), (len(obs), 4)))


def subject_of(env, beliefs, discount=1.0):
    return Subject(
        name="made up",
        env=resolve_env(env, driver="hosted"),
        beliefs=beliefs,
        best=lambda obs: np.asarray(beliefs(obs).mean).argmax(axis=-1),
        act=lambda obs: int(np.asarray(beliefs(obs[None]).mean)[0].argmax()),
        discount=discount,
        quantiles=0,
        levels=np.zeros(0),
        epistemic_kind="none",
    )


def test_returns_from_states_in_jax_have_the_exact_means_and_spreads():
    subject = toy.subject_of(toy.exact_beliefs)
    found = rollouts.play(subject, Rollouts(episodes=20, states=60, continuations=200), lambda _: None)
    assert found.how == CONTINUED
    assert found.obs.shape == (20, 3, 5)
    assert np.all(found.completed == 0)
    obs = found.obs.reshape(-1, 5)
    left = obs[:, 4]
    assert set(left) == {1, 2, 3}  # All steps of an episode are drawn.
    mean, sd = left * 4 * obs[:, :4].mean(axis=1), np.sqrt(left) * (0.5 + 0.5 * obs[:, 0])
    returns = found.returns.reshape(-1, 200)
    assert np.abs((returns.mean(axis=1) - mean) / (sd / np.sqrt(200))).max() < 4.5
    assert np.abs(returns.std(axis=1, ddof=1) / sd - 1).max() < 4.5 / np.sqrt(2 * 200)


def test_discounted_returns_and_one_step_targets():
    subject = toy.subject_of(toy.exact_beliefs, discount=0.5)
    found = rollouts.play(subject, Rollouts(episodes=8, states=16, continuations=300), lambda _: None)
    obs = found.obs.reshape(-1, 5)
    mean, left = 4 * obs[:, :4].mean(axis=1), obs[:, 4]
    weights = 2 * (1 - 0.5**left)
    sd = 0.5 + 0.5 * obs[:, 0]
    error = found.returns.reshape(-1, 300).mean(axis=1) - weights * mean
    assert np.abs(error / (sd * np.sqrt((1 - 0.25**left) / 0.75 / 300))).max() < 4.5
    # The value that is believed after a step is for discount 1, and 0.2 of the width too high.
    ahead = (left - 1) * (mean + 0.2 * (obs[:, 3] - obs[:, 0]))
    one_step = found.one_step.reshape(-1, 300).mean(axis=1)
    assert np.abs((one_step - mean - 0.5 * ahead) / (sd / np.sqrt(300))).max() < 4.5


def test_a_horizon_completes_returns_by_the_believed_value():
    assert rollouts.horizon_of(0.99) == 688
    assert rollouts.horizon_of(0.5) == 10
    assert rollouts.horizon_of(0) == 1
    assert rollouts.horizon_of(1) > 10_000


@pytest.fixture(scope="module")
def on_the_cliff():
    subject = subject_of("surefoot/WindyCliff-v0", ledge_walker)
    return rollouts.play(subject, Rollouts(episodes=100, states=200, continuations=4), lambda _: None)


def test_a_gymnasium_episode_is_replayed_and_goes_on_with_fresh_randomness(on_the_cliff):
    assert on_the_cliff.how == REPLAYED
    exact = windy_cliff_exact.exact_returns(RISKY_POLICY)
    cells = on_the_cliff.obs[..., :10].argmax(axis=-1)
    times = on_the_cliff.obs[..., 10].astype(int)
    for time in range(4):
        here = times == time
        assert np.all(cells[here] == 5 + time)
        returns = on_the_cliff.returns[here]
        mean, sd = exact.mean[time, 1, time], exact.sd[time, 1, time]
        assert abs(returns.mean() - mean) < 4.5 * sd / np.sqrt(returns.size) + 1e-9
        assert returns.std() == pytest.approx(sd, abs=0.6)


def test_states_are_not_chosen_by_what_follows(on_the_cliff):
    """An episode's own return from a state would be: long episodes have fewer draws of each state."""
    at_start = on_the_cliff.returns[on_the_cliff.obs[..., 10] == 0]
    assert at_start.mean() == pytest.approx(4.86, abs=4.5 * 2.8 / np.sqrt(at_start.size))


class Countdown(gymnasium.Env):
    """Pays 1 a step for ever, without randomness; the observation is the time."""

    observation_space = Box(0, 1e6, (1,))
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        del action
        self.time += 1
        return np.full(1, self.time, np.float32), 1.0, False, False, {}


def test_an_outside_time_limit_does_not_end_a_return():
    subject = subject_of(
        TimeLimit(Countdown(), 5), lambda obs: Beliefs(np.tile([7.0, 3.0], (len(obs), 1))), discount=0.5
    )
    found = rollouts.play(subject, Rollouts(episodes=8, states=16), lambda _: None)
    assert found.how == REALISED  # Nothing is random.
    assert found.returns.shape == (8, 2, 1)
    # Ten steps, and the believed value of what follows.
    np.testing.assert_allclose(found.returns, 2 * (1 - 0.5**10) + 7 * 0.5**10)
    np.testing.assert_allclose(found.completed, 0.5**10)
    np.testing.assert_allclose(found.one_step, 1 + 0.5 * 7)
    assert found.obs.max() <= 4  # States are those of the episodes, which the limit does end.


class Unrepeatable(Countdown):
    """Its observations have noise that no seed repeats, and it ends by itself."""

    def step(self, action):
        _, reward, *_ = super().step(action)
        obs = np.full(1, self.time + np.random.default_rng().uniform(), np.float32)
        return obs, reward, self.time == 3, False, {}


def test_an_environment_that_cannot_be_replayed_has_the_returns_of_its_own_episodes():
    subject = subject_of(Unrepeatable(), lambda obs: Beliefs(np.ones((len(obs), 2))))
    found = rollouts.play(subject, Rollouts(episodes=8, states=16), lambda _: None)
    assert found.how == REALISED
    np.testing.assert_allclose(found.returns[..., 0], 3 - np.floor(found.obs[..., 0]))


def test_episodes_of_other_lengths_and_environments_are_shaped_alike():
    handle = resolve_env(Countdown(), driver="hosted")
    found = rollouts.observations(lambda _: 0, handle, Rollouts(episodes=8, states=24), 6)
    assert found.shape == (8, 3, 1)
    assert found.max() <= 5


def test_the_policy_is_greedy_by_the_mean_whatever_the_agent_acts_by():
    from surefoot.audit.subject import of_agent

    model = surefoot.UADQN(
        "surefoot/WindyCliff-v0", network="mlp:8", risk="mean-sd:50", auxiliary_networks=2, replay_capacity=9
    )
    obs = windy_cliff.observations().reshape(-1, 11)
    subject = of_agent(
        model._agent, model._predictor, model.parameters, model.spec, model._env, 0, model._live_run.replay
    )
    by_mean = np.asarray(model.beliefs(obs).mean).argmax(axis=-1)
    assert np.any(model.predict(obs)[0] != by_mean)
    np.testing.assert_array_equal(subject.best(obs), by_mean)
    assert subject.act(obs[0]) == by_mean[0]
