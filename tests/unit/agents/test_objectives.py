"""What is optimised: static, iterated and greedy risk on small tasks whose best policies are enumerated."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import surefoot
from surefoot.agents import AGENTS
from surefoot.architectures import mlp_architecture
from surefoot.envs import tabular
from surefoot.envs.tabular import Outcome
from surefoot.errors import UserError
from surefoot.risk import RISK_MEASURES, parse_risk
from surefoot.types import Beliefs, Transition
from tests.enumerated_policies import all_return_distributions, cvar
from tests.small_models import CLIFF, QUICK, have_equal_learners

WORST_HALF = "cvar:0.5"

LUCK_FIRST = {
    (0, 0): [Outcome(0.5, 0.0, 1), Outcome(0.5, 4.0, 1)],
    (0, 1): [Outcome(1.0, 0.75, None)],
    (1, 0): [Outcome(1.0, 1.0, None)],
    (1, 1): [Outcome(0.5, -1.0, None), Outcome(0.5, 4.0, None)],
}
"""Luck pays 0 or 4, and then one may gamble. The second state does not show the luck. The best CVaR 0.5
gambles after bad luck, where all of the worst half lies and its mean counts, and is content after good."""

GAMBLE_LATER = {
    (0, 0): [Outcome(1.0, 0.0, 1)],
    (0, 1): [Outcome(1.0, 0.5, None)],
    (1, 0): [Outcome(1.0, 1.0, None)],
    (1, 1): [Outcome(0.5, -2.0, None), Outcome(0.5, 6.0, None)],
}
"""One may go on, and then take 1 for sure or gamble for 2 on average; or take 0.5 now."""

LEARNING = {
    "network": "mlp:32",
    "quantiles": 20,
    "levels": "midpoints",
    "discount": 1.0,
    "learning_rate": 5e-3,
    "batch_size": 32,
    "learning_starts": 100,
    "target_period": 50,
    "replay_capacity": 5_000,
    "final_epsilon": 0.3,
    "final_epsilon_step": 300,
    "risk": WORST_HALF,
}
BUDGETS = {"objective": "static", "min_return": -2.0, "max_return": 9.0}


def returns_of(model):
    """The distribution of returns of a trained agent: the values that occur tell the policy apart."""
    return sorted(set(model.evaluate(200).returns.tolist()))


def test_enumeration_finds_the_best_cvar_by_hand():
    found = all_return_distributions(LUCK_FIRST)
    # To stop at once, or to go on and choose after each of the two kinds of luck.
    assert len(found) == 1 + 4
    best = max(found, key=lambda each: cvar(each, 0.5))
    assert sorted(best) == [(0.25, -1), (0.25, 4), (0.5, 5)]
    assert cvar(best, 0.5) == 1.5
    # Whoever does not remember the luck gets 1 at best.
    assert sorted(cvar(each, 0.5) for each in found) == [0.75, 1, 1, 1, 1.5]


@pytest.mark.parametrize(
    ("agent", "extra"),
    [
        (surefoot.QRDQN, {}),
        pytest.param(
            surefoot.UADQN,
            {"explorer": "epsilon-greedy", "auxiliary_networks": 2},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_static_cvar_attains_the_optimum_of_all_policies_with_memory_and_greedy_does_not(agent, extra):
    found = all_return_distributions(LUCK_FIRST)
    best = max(found, key=lambda each: cvar(each, 0.5))
    env = tabular.make(LUCK_FIRST)
    static = agent(env, **BUDGETS, **LEARNING, **extra).learn(2_500, progress=False)
    played = static.evaluate(1_000)
    assert sorted(set(played.returns.tolist())) == sorted(value for _, value in best)
    low, high = played.risk.realised.interval
    assert low < 1.5 < high
    assert played.risk.believed_mean == pytest.approx(1.5, abs=0.5)
    greedy = agent(env, **LEARNING, **extra).learn(1_500, progress=False)
    assert returns_of(greedy) == [1, 5]


def beliefs_if_gambled_later():
    """Exact beliefs at the start of GAMBLE_LATER if targets gamble, as that pays more on average."""
    quantiles = jnp.array([[-2.0] * 5 + [6.0] * 5, [0.5] * 10])
    return Beliefs(quantiles.mean(axis=-1), quantiles=quantiles)


def test_greedy_re_ranking_takes_what_every_attitude_to_risk_finds_worse():
    """It fears a gamble that it would not make: 0.5 now, instead of 1 for sure a step later."""
    risk = parse_risk(WORST_HALF)
    chosen = int(jnp.argmax(risk(beliefs_if_gambled_later())))
    assert chosen == 1
    later = Beliefs(jnp.array([1.0, 2.0]), quantiles=jnp.array([[1.0] * 10, [-2.0] * 5 + [6.0] * 5]))
    assert int(jnp.argmax(risk(later))) == 0
    # So its policy earns 0.5. To go on and take 1 is better with certainty, hence by any measure.
    assert [(1.0, 1.0)] in all_return_distributions(GAMBLE_LATER)
    assert max(cvar(each, 0.5) for each in all_return_distributions(GAMBLE_LATER)) == 1


@pytest.mark.slow
def test_trained_agents_show_the_counter_example():
    env = tabular.make(GAMBLE_LATER)
    greedy = surefoot.QRDQN(env, **LEARNING).learn(3_000, progress=False)
    assert returns_of(greedy) == [0.5]
    for objective in ({"objective": "iterated"}, BUDGETS):
        model = surefoot.QRDQN(env, **objective, **LEARNING).learn(3_000, progress=False)
        assert returns_of(model) == [1]
    uadqn = surefoot.UADQN(
        env, objective="iterated", explorer="epsilon-greedy", auxiliary_networks=2, **LEARNING
    )
    assert returns_of(uadqn.learn(3_000, progress=False)) == [1]


def small(agent=surefoot.QRDQN, env=CLIFF, **settings):
    return agent(env, **(QUICK | {"quantiles": 8} | settings))


@pytest.mark.parametrize("env", [CLIFF, "CartPole-v1"])
def test_a_static_model_goes_on_exactly_after_it_was_saved(env, tmp_path):
    static = {"objective": "static", "risk": "cvar:0.5", "min_return": -15.0, "max_return": 10.0}
    whole = small(env=env, **static).learn(80, progress=False)
    half = small(env=env, **static).learn(40, progress=False)
    half.save(tmp_path / "half")
    again = surefoot.load(tmp_path / "half").learn(40, progress=False)
    assert have_equal_learners(whole, again)
    assert whole.observation_space.shape[0] == gymnasium.make(env).observation_space.shape[0] + 1


def test_compiled_and_hosted_evaluations_begin_with_the_same_best_budget():
    static = {"objective": "static", "risk": "cvar:0.5", "min_return": -15.0, "max_return": 10.0}
    model = small(**static).learn(60, progress=False)
    one, other = model.evaluate(4, seed=3), model.evaluate(4, seed=3, env=gymnasium.make(CLIFF))
    np.testing.assert_array_equal(one.returns, other.returns)
    np.testing.assert_allclose(one.risk.believed, other.risk.believed, rtol=1e-5)
    env = model.with_budget(CLIFF)
    obs, _ = env.reset(seed=0)
    values = [
        float(model._agent.value(model.beliefs(np.append(obs[:-1], np.float32(place)))).max())
        for place in np.linspace(0, 1, 11)
    ]
    assert float(model._agent.value(model.beliefs(obs)).max()) >= max(values) - 1e-5
    total, done = 0.0, False
    while not done:
        obs, reward, terminated, truncated, _ = env.step(model.predict(obs)[0])
        total, done = total + reward, terminated or truncated
    assert total in one.returns


@pytest.mark.parametrize("name", ["qrdqn", pytest.param("uadqn", marks=pytest.mark.slow)])
def test_iterated_targets_follow_the_measure_and_greedy_ones_the_mean(name):
    """One batch costs two agents with equal networks differently only if their next actions differ."""
    next_obs = jax.random.normal(jax.random.key(0), (32, 3))
    batch = Transition(next_obs, jnp.arange(32) % 2, jnp.zeros(32), jnp.zeros(32, bool), next_obs)

    def loss(risk, objective):
        settings = AGENTS[name].settings(quantiles=8, risk=risk, objective=objective)
        agent = AGENTS[name].make(settings, mlp_architecture(3, (8,)), 2, None)
        learner = jax.jit(agent.init)(jax.random.key(1))
        return float(jax.jit(agent.loss)(learner, batch, jnp.asarray(10.0), jax.random.key(2)))

    neutral = loss("mean", "greedy")
    assert loss("cvar:0.25", "greedy") == neutral
    assert loss("mean", "iterated") == pytest.approx(neutral, rel=1e-5)
    assert loss("cvar:0.25", "iterated") != pytest.approx(neutral, rel=1e-3)


@pytest.mark.parametrize(
    ("agent", "settings", "message"),
    [
        (surefoot.QRDQN, {"risk": "cvar:0.01"}, r"got cvar:0.01 for 8 quantiles, .*from 0.25 \(2/8\)"),
        (surefoot.UADQN, {"risk": "cvar:0.01"}, r"got cvar:0.01 for 8 quantiles"),
        (surefoot.QRDQN, {"risk": "pessimism:1"}, "for an agent without epistemic uncertainty"),
        (surefoot.DQN, {"risk": "cvar:0.5"}, "for an agent that learns without one"),
        (
            surefoot.QRDQN,
            {"objective": "static"},
            "got static with risk=mean, accepted: static with risk=cvar",
        ),
        (
            surefoot.UADQN,
            {"objective": "static", "risk": "mean-sd:1"},
            "got static with risk=mean-sd:1, accepted: static with risk=cvar:ALPHA",
        ),
        (
            surefoot.QRDQN,
            {"objective": "static", "risk": "cvar:0.5"},
            "min_return=0 and max_return=0, accepted: a lower and a higher bound",
        ),
        (surefoot.QRDQN, {"min_return": -1.0}, "max_return: got 0.0, .*without objective=static"),
        (
            surefoot.UADQN,
            {"objective": "iterated", "risk": "cvar:0.5", "targets": "own-greedy"},
            "objective: got iterated with targets=own-greedy, accepted: shared, own",
        ),
        (surefoot.QRDQN, {**BUDGETS, "risk": "cvar:0.5", "normalise": True}, "normalise: got True with"),
        (surefoot.QRDQN, {**BUDGETS, "risk": "cvar:0.5", "discount": 0.0}, "discount: got 0.0, accepted"),
    ],
)
def test_what_cannot_be_optimised_is_refused_in_one_line(agent, settings, message):
    with pytest.raises(UserError, match=message) as refused:
        agent(CLIFF, **(QUICK | ({} if agent is surefoot.DQN else {"quantiles": 8}) | settings))
    assert "\n" not in str(refused.value)


def test_static_needs_vectors_of_floats():
    settings = {**BUDGETS, "risk": "cvar:0.5", "quantiles": 8}
    with pytest.raises(UserError, match=r"got observations Discrete\(16\) with objective=static"):
        surefoot.QRDQN("FrozenLake-v1", **settings)
    with pytest.raises(UserError, match="with objective=static, accepted: vectors of floats"):
        surefoot.QRDQN("surefoot/DeepSea-v0", env_kwargs={"size": 4}, **settings)


def test_a_static_model_is_asked_under_its_own_measure_only():
    model = small(**BUDGETS, risk="cvar:0.5")
    obs = np.full(12, 0.5, np.float32)
    assert model.predict(obs, risk="cvar:0.5")[0] == model.predict(obs)[0]
    for refuse in (lambda: model.predict(obs, risk="mean"), lambda: model.evaluate(1, risk="cvar:0.4")):
        with pytest.raises(UserError, match=r"for a model with objective=static, accepted: cvar:0.5"):
            refuse()
    with pytest.raises(UserError, match="with_budget: got a model without budgets"):
        small().with_budget(CLIFF)


def test_a_measure_that_is_too_fine_is_refused_where_agent_and_measure_meet():
    model = small()
    obs = np.full(11, 0.5, np.float32)
    for refuse in (lambda: model.predict(obs, risk="cvar:0.1"), lambda: model.evaluate(1, risk="cvar:0.1")):
        with pytest.raises(UserError, match=r"risk: got cvar:0.1 for 8 quantiles"):
            refuse()
    assert model.predict(obs, risk="cvar:0.25")[0] in range(4)


WHAT_AGENTS_SERVE = {
    "dqn": {"mean"},
    "bootstrapped": {"mean", "pessimism"},
    "qrdqn": set(RISK_MEASURES) - {"pessimism"},
    "uadqn": set(RISK_MEASURES),
}


@pytest.mark.parametrize("agent", list(AGENTS))
@pytest.mark.parametrize("name", list(RISK_MEASURES))
def test_each_agent_serves_the_measures_that_its_beliefs_allow_and_refuses_the_others(agent, name):
    model = surefoot.Model(CLIFF, agent=agent, **QUICK)
    measure = parse_risk(":".join([name, *(f"{number}" for number in RISK_MEASURES[name].grid[2:3])]))
    if name in WHAT_AGENTS_SERVE[agent]:
        assert model.predict(np.full(11, 0.5, np.float32), risk=measure)[0] in range(4)
    else:
        with pytest.raises(UserError, match=f"risk: got {name} for an agent without .*, accepted: mean"):
            model.predict(np.full(11, 0.5, np.float32), risk=measure)
