"""Saving and loading models, and the best model of a run."""

import gymnasium
import jax
import jax.monitoring
import numpy as np
import pytest

import surefoot
from surefoot.errors import UserError
from surefoot.model_spec import agent_of
from tests.small_models import CLIFF, QUICK, have_equal_learners


@pytest.mark.parametrize("env", ["CartPole-v1", CLIFF])
def test_a_loaded_model_answers_alike_and_goes_on_learning_alike(env, tmp_path):
    model = surefoot.UADQN(env, seed=5, **QUICK).learn(70, progress=False)
    model.save(tmp_path / "model")
    again = surefoot.load(tmp_path / "model")
    assert type(again) is surefoot.UADQN
    assert again.num_timesteps == 70
    obs = np.zeros(model.observation_space.shape, np.float32)
    np.testing.assert_array_equal(again.beliefs(obs).mean, model.beliefs(obs).mean)
    again.save(tmp_path / "before it has an environment")
    third = surefoot.UADQN.load(tmp_path / "before it has an environment")
    for each in (model, again, third):
        each.learn(50, progress=False)
    assert have_equal_learners(model, again)
    assert have_equal_learners(model, third)


def test_saving_overwrites_nothing_unless_asked(tmp_path):
    model = surefoot.DQN(CLIFF, **QUICK)
    path = tmp_path / "model"
    model.save(path)
    before = (path / "learner.safetensors").read_bytes()
    model.learn(60, progress=False)
    with pytest.raises(UserError, match="exists already, accepted: a new directory, or overwrite=True"):
        model.save(path)
    assert (path / "learner.safetensors").read_bytes() == before
    model.save(path, overwrite=True)
    assert have_equal_learners(surefoot.load(path), model)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("x")
    with pytest.raises(UserError, match="manifest"):
        model.save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "precious").read_text() == "x"


def test_loading_what_is_not_a_model_is_refused(tmp_path):
    with pytest.raises(UserError, match="accepted: a directory that save or train wrote"):
        surefoot.load(tmp_path / "nothing")
    with pytest.raises(UserError, match="no model here, accepted: a directory that save or train wrote"):
        surefoot.load(tmp_path)
    surefoot.DQN(CLIFF, **QUICK).save(tmp_path / "dqn")
    with pytest.raises(UserError, match="holds a DQN, accepted: a UADQN"):
        surefoot.UADQN.load(tmp_path / "dqn")


def test_normalisation_is_saved_with_the_model(tmp_path):
    model = surefoot.UADQN("CartPole-v1", normalise=True, **QUICK).learn(80, progress=False)
    moments = model._live_run.learner.params.moments
    assert moments.observations == 81
    model.save(tmp_path / "model")
    again = surefoot.load(tmp_path / "model")
    obs = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    np.testing.assert_array_equal(again.beliefs(obs).mean, model.beliefs(obs).mean)
    assert have_equal_learners(again.learn(30, progress=False), model.learn(30, progress=False))
    with pytest.raises(UserError, match=r"normalise: got observations Discrete.*accepted: vectors"):
        surefoot.DQN("FrozenLake-v1", normalise=True)


def test_a_users_network_is_asked_for_when_its_model_is_loaded(tmp_path):
    import equinox as eqx

    def network(key, outputs):
        return eqx.nn.MLP(4, outputs, 8, 1, key=key)

    settings = {**QUICK, "network": network}
    model = surefoot.UADQN("CartPole-v1", **settings).learn(60, progress=False)
    model.save(tmp_path / "model")
    with pytest.raises(UserError, match="network: this model has one of its own"):
        surefoot.load(tmp_path / "model")
    again = surefoot.load(tmp_path / "model", network=network)
    assert have_equal_learners(again.learn(20, progress=False), model.learn(20, progress=False))


def test_the_best_model_of_a_run_can_learn_on_and_tells_of_it(tmp_path):
    model = surefoot.DQN(CLIFF, **QUICK)
    model.learn(100, out=tmp_path, log_every=50, eval_every=50, eval_episodes=1, progress=False)
    best = surefoot.load(tmp_path)
    told = []
    best.learn(60, log_every=20, callbacks=lambda progress: told.append(progress.step), progress=False)
    assert told == [20, 40, 60]


def test_a_damaged_best_model_is_told_of_and_the_newest_used(tmp_path):
    surefoot.DQN(CLIFF, **QUICK).learn(
        60, out=tmp_path, log_every=50, eval_every=50, eval_episodes=1, progress=False
    )
    (best,) = (tmp_path / "checkpoints").glob("best_*")
    (best / "learner.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match="learner.safetensors: 0 bytes.*; the newest checkpoint is used"):
        assert surefoot.load(tmp_path).num_timesteps == 60


def test_a_run_in_an_object_asks_for_it_again(tmp_path):
    odd = gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda reward: -reward)
    surefoot.DQN(odd, **QUICK).learn(40, out=tmp_path, progress=False)
    with pytest.raises(UserError, match=r"env: CartPole-v1 was given as an object, accepted: give it again"):
        surefoot.resume(tmp_path, 60, progress=False)
    assert surefoot.resume(tmp_path, 60, env=odd, progress=False).num_timesteps == 60


def test_a_second_seed_and_a_loaded_model_compile_nothing(tmp_path):
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, *_, **__: compiled.append(name) if "backend_compile" in name else None
    )

    def live(model):
        model.learn(60, progress=False, log_every=20, eval_every=30, eval_episodes=1)
        model.predict(np.zeros(11, np.float32))
        model.predict(np.zeros(11, np.float32), deterministic=False)
        return model

    live(surefoot.QRDQN(CLIFF, seed=1, **QUICK)).save(tmp_path / "model")
    first = len(compiled)
    live(surefoot.QRDQN(CLIFF, seed=2, **QUICK))
    live(surefoot.load(tmp_path / "model"))
    assert first > 0
    assert len(compiled) == first


def test_an_agent_of_another_precision_is_another_agent():
    model = surefoot.QRDQN(CLIFF, **QUICK)
    assert agent_of(model.spec) is agent_of(model.spec)
    with jax.enable_x64(True):
        assert agent_of(model.spec) is not model._live_run.agent


def test_a_loaded_best_model_explores_like_the_agent_that_it_was(tmp_path):
    """Epsilon is 0 from step 40 on, so that exploring is greedy."""
    settings = {**QUICK, "final_epsilon": 0.0, "final_epsilon_step": 40}
    model = surefoot.DQN(CLIFF, **settings)
    model.learn(100, out=tmp_path, log_every=50, eval_every=100, eval_episodes=1, progress=False)
    best = surefoot.load(tmp_path)
    assert best.num_timesteps == 100
    batch = np.stack([best.observation_space.sample() for _ in range(40)])
    np.testing.assert_array_equal(best.predict(batch, deterministic=False)[0], best.predict(batch)[0])
    best.save(tmp_path / "again")
    assert surefoot.load(tmp_path / "again").num_timesteps == 100


def test_a_fifth_agent_makes_no_other_compile_again():
    made = [surefoot.DQN(CLIFF, **{**QUICK, "discount": 0.9 + i / 100}) for i in range(6)]
    agents = [each._live_run.agent for each in made]
    again = [surefoot.DQN(CLIFF, seed=7, **{**QUICK, "discount": 0.9 + i / 100}) for i in range(6)]
    assert all(one is each._live_run.agent for one, each in zip(agents, again, strict=True))


def test_without_a_best_model_a_damaged_newest_checkpoint_is_reported(tmp_path):
    surefoot.DQN(CLIFF, **QUICK).learn(60, out=tmp_path, checkpoint_every=20, progress=False)
    (tmp_path / "checkpoints" / "step_000000060" / "learner.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match="an older checkpoint is used, that of step 40"):
        assert surefoot.load(tmp_path).num_timesteps == 40


def test_a_directory_of_runs_is_refused_with_one_of_them(tmp_path):
    for name in ("one", "two"):
        surefoot.DQN(CLIFF, **QUICK).learn(20, out=tmp_path / name, progress=False)
    with pytest.raises(UserError, match=r"holds 2 runs, accepted: one of them, such as .*one"):
        surefoot.load(tmp_path)
