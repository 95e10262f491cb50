"""The friendly object: learn, ask, change one's attitude to risk, save, load, go on."""

import gymnasium
import jax
import jax.monitoring
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import surefoot
from surefoot.envs import windy_cliff
from surefoot.model import MODELS
from surefoot.model_spec import build
from surefoot.errors import FaultyEnvironmentError, UserError

QUICK = {
    "network": "mlp:8",
    "batch_size": 4,
    "learning_starts": 30,
    "target_period": 20,
    "replay_capacity": 500,
}
CLIFF = "surefoot/WindyCliff-v0"


def leaves(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(model._trainer.learner)]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(leaves(one), leaves(other), strict=True))


@pytest.fixture(scope="module", params=list(MODELS))
def trained(request):
    return MODELS[request.param]("CartPole-v1", seed=1, **QUICK).learn(120, progress=False)


def test_learning_changes_it_and_returns_it(trained):
    fresh = type(trained)("CartPole-v1", seed=1, **QUICK)
    assert isinstance(trained, surefoot.Model)
    assert trained.num_timesteps == 120
    assert fresh.num_timesteps == 0
    assert not same(trained, fresh)


def test_one_observation_gives_a_number_and_a_batch_as_many(trained):
    obs = trained.observation_space.sample() * 0.01
    batch = np.stack([obs, -obs, 2 * obs])
    action, state = trained.predict(obs, state="mine")
    assert state == "mine"
    assert action in {0, 1}
    assert {action: "hashable"}
    actions, _ = trained.predict(batch)
    assert actions.shape == (3,)
    assert actions[0] == action
    assert trained.predict(obs.tolist())[0] == action


def test_beliefs_of_one_and_of_many_agree(trained):
    obs = np.array([0.01, 0.0, -0.02, 0.1], np.float32)
    one, many = trained.beliefs(obs), trained.beliefs(np.stack([obs, obs]))
    assert one.mean.shape == (2,)
    for a, b in zip(one, many, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b[1], a, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("env", [CLIFF, "CartPole-v1"])
def test_asking_before_learning_changes_nothing_of_what_is_learned(env):
    asked, unasked = (surefoot.DQN(env, seed=4, **QUICK) for _ in range(2))
    before = asked.beliefs(np.zeros(asked.observation_space.shape, np.float32)).mean
    assert same(asked.learn(60, progress=False), unasked.learn(60, progress=False))
    first = surefoot.DQN(env, seed=4, **QUICK).learn(1, progress=False)
    np.testing.assert_array_equal(
        first.beliefs(np.zeros(asked.observation_space.shape, np.float32)).mean, before
    )


def test_learning_in_pieces_is_learning_at_once():
    pieces, whole = (surefoot.QRDQN("CartPole-v1", seed=2, **QUICK) for _ in range(2))
    for count in (10, 50, 40):
        pieces.learn(count, progress=False)
    assert same(pieces, whole.learn(100, progress=False))


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
    assert same(model, again)
    assert same(model, third)


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
    assert same(surefoot.load(path), model)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("x")
    with pytest.raises(UserError, match="manifest"):
        model.save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "precious").read_text() == "x"


def test_loading_what_is_not_a_model_is_refused(tmp_path):
    with pytest.raises(UserError, match="accepted: a directory that save or train wrote"):
        surefoot.load(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"manifest.json: not readable"):
        surefoot.load(tmp_path)
    surefoot.DQN(CLIFF, **QUICK).save(tmp_path / "dqn")
    with pytest.raises(UserError, match="holds a DQN, accepted: a UADQN"):
        surefoot.UADQN.load(tmp_path / "dqn")


class TwoArms(gymnasium.Env):
    """Action 0 pays 1 for sure; action 1 pays 1.5 on average, by chance 5 or -2."""

    observation_space = Box(0, 1, (1,))
    action_space = Discrete(2, start=3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return np.ones(1, np.float32), {}

    def step(self, action):
        safe = action == 3
        reward = 1.0 if safe else float(self.np_random.choice([5.0, -2.0]))
        return np.ones(1, np.float32), reward, True, False, {}


@pytest.fixture(scope="module")
def gambler():
    settings = {"learning_rate": 5e-3, "learning_starts": 100, "target_period": 50, "exploration": 4.0}
    model = surefoot.UADQN(TwoArms(), network="mlp:16", batch_size=32, **settings)
    return model.learn(2_500, progress=False)


def test_the_attitude_to_risk_changes_at_call_time_without_training(gambler):
    obs = np.ones(1, np.float32)
    beliefs = gambler.beliefs(obs)
    np.testing.assert_allclose(beliefs.mean, [1, 1.5], atol=0.5)
    np.testing.assert_allclose(beliefs.aleatoric, [0, 3.5], atol=0.6)
    assert gambler.predict(obs)[0] == 4
    assert gambler.predict(obs, risk_aversion=0.0)[0] == 4
    assert gambler.predict(obs, risk_aversion=1.0)[0] == 3
    assert gambler.predict(obs, risk="mean-sd:1.0")[0] == 3
    assert gambler.predict(obs, risk="mean")[0] == 4
    batch, _ = gambler.predict(np.ones((3, 1), np.float32), risk_aversion=1.0)
    np.testing.assert_array_equal(batch, [3, 3, 3])
    assert gambler.evaluate(50, env=TwoArms(), risk_aversion=1.0).mean == 1
    assert np.std(gambler.evaluate(50, env=TwoArms()).returns) > 2


def test_exploring_predictions_differ_from_call_to_call():
    model = surefoot.DQN("CartPole-v1", **QUICK)
    batch = np.zeros((64, 4), np.float32)
    one, other = (model.predict(batch, deterministic=False)[0] for _ in range(2))
    assert not np.array_equal(one, other)
    assert set(one) == {0, 1}
    np.testing.assert_array_equal(model.predict(batch)[0], model.predict(batch)[0])


def test_learning_goes_on_in_another_environment_of_the_same_spaces():
    model = surefoot.QRDQN(CLIFF, env_kwargs={"wind": 0.0}, **QUICK).learn(60, progress=False)
    model.learn(60, env=windy_cliff.make(windy_cliff.Config(wind=1.0)), progress=False)
    assert model.num_timesteps == 120
    with pytest.raises(UserError, match=r"env: .* has observation_space .*accepted: "):
        model.learn(10, env=windy_cliff.make(windy_cliff.Config(columns=9)), progress=False)
    with pytest.raises(UserError, match="accepted: "):
        model.learn(10, env="CartPole-v1", progress=False)
    hosted = surefoot.QRDQN("CartPole-v1", **QUICK).learn(40, progress=False)
    hosted.learn(40, env=gymnasium.make("CartPole-v1", max_episode_steps=7), progress=False)
    assert hosted.num_timesteps == 80


class Breaks(TwoArms):
    """Breaks at its 50th step, once."""

    steps = 0

    def step(self, action):
        self.steps += 1
        if self.steps == 50:
            raise RuntimeError("broken")
        return super().step(action)


def test_a_fault_of_the_environment_loses_nothing_and_learning_can_go_on(tmp_path):
    model = surefoot.DQN(Breaks(), **QUICK)
    with pytest.raises(
        FaultyEnvironmentError, match="Breaks, episode 50, step 1: step raised RuntimeError: broken"
    ):
        model.learn(200, out=tmp_path / "run", progress=False)
    assert model.num_timesteps == 49
    saved = surefoot.load(tmp_path / "run", Breaks())
    assert saved.num_timesteps == 49
    assert len((tmp_path / "run" / "episodes.csv").read_text().splitlines()) == 50
    model.learn(20, progress=False)
    assert model.num_timesteps == 69


def test_callbacks_see_the_log_and_can_end_training():
    seen = []

    def watch(progress):
        seen.append((progress.step, progress.end, progress.model.num_timesteps, dict(progress.scalars)))
        return progress.step < 60

    model = surefoot.DQN(CLIFF, **QUICK)
    model.learn(200, log_every=20, callbacks=watch, progress=False)
    assert [each[:3] for each in seen] == [(20, 200, 20), (40, 200, 40), (60, 200, 60)]
    assert "rollout/ep_rew_mean" in seen[-1][3]
    also = []
    model.learn(
        40, log_every=20, callbacks=[watch, lambda progress: also.append(progress.step)], progress=False
    )
    assert also == [80]


def test_loggers_get_the_same_scalars(tmp_path):
    sent = {}
    model = surefoot.UADQN(CLIFF, **QUICK)
    model.learn(
        60,
        out=tmp_path,
        log_every=20,
        loggers=[lambda step, scalars: sent.update({step: scalars})],
        progress=False,
    )
    from surefoot.runs.log_files import read_metrics

    for line in read_metrics(tmp_path):
        step = line.pop("step")
        assert {name: sent[step][name] for name in line} == line
        assert sent[step]["time/fps"] > 0


def test_normalisation_is_saved_with_the_model(tmp_path):
    model = surefoot.UADQN("CartPole-v1", normalise=True, **QUICK).learn(80, progress=False)
    moments = model._trainer.learner.params.moments
    assert moments.seen == 81
    model.save(tmp_path / "model")
    again = surefoot.load(tmp_path / "model")
    obs = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    np.testing.assert_array_equal(again.beliefs(obs).mean, model.beliefs(obs).mean)
    assert same(again.learn(30, progress=False), model.learn(30, progress=False))
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
    assert same(again.learn(20, progress=False), model.learn(20, progress=False))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: surefoot.DQN("Pendulum-v1"), "env: Pendulum-v1 has actions Box.*accepted: Discrete"),
        (
            lambda: surefoot.DQN("Blackjack-v1"),
            "env: Blackjack-v1 has observations Tuple, accepted: Box or Discrete",
        ),
        (lambda: surefoot.DQN("CartPole-v1", seed=-1), "seed: got -1"),
        (lambda: surefoot.DQN("CartPole-v1", risk_aversion=1), "risk_aversion: no setting of dqn"),
        (lambda: surefoot.DQN("CartPole-v1", preset="x"), "preset: got x"),
        (lambda: surefoot.UADQN("CartPole-v1", risk="x"), "risk: got x"),
        (lambda: surefoot.DQN(CLIFF).learn(0), "total_timesteps: got 0, accepted: whole numbers from 1"),
        (lambda: surefoot.DQN(CLIFF).learn(5, eval_every=0), "eval_every: got 0"),
        (
            lambda: surefoot.DQN(CLIFF).predict(np.zeros(3)),
            r"observation: got shape \(3,\), accepted: \(11,\)",
        ),
        (
            lambda: surefoot.DQN("FrozenLake-v1").predict(0.5),
            "observation: got dtype float64, accepted: int64",
        ),
        (lambda: surefoot.DQN(CLIFF).predict(np.zeros(11), risk_aversion=1.0), "no aleatoric uncertainty"),
        (lambda: surefoot.UADQN(CLIFF).predict(np.zeros(11), risk_aversion=-1.0), "risk_aversion: got -1"),
        (
            lambda: surefoot.UADQN(CLIFF).predict(np.zeros(11), None, None, False, risk="mean"),
            "exploring follows",
        ),
        (lambda: surefoot.UADQN(CLIFF).evaluate(0), "episodes: got 0"),
        (lambda: surefoot.DQN(5), r"env: got 5 \(int\), accepted: a Gymnasium id"),
        (lambda: surefoot.DQN(None), "env: got None"),
        (lambda: surefoot.DQN(CLIFF, seed="3"), "seed: got '3', accepted: whole numbers"),
        (
            lambda: surefoot.DQN(CLIFF, batch_size=4.5),
            "batch_size: got 4.5, accepted: whole numbers",
        ),
        (lambda: surefoot.DQN(CLIFF).learn(100.5), "total_timesteps: got 100.5, accepted: whole numbers"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_accepted(make, says):
    with pytest.raises(UserError, match=says) as error:
        make()
    assert "\n" not in str(error.value)


class Picture(gymnasium.Env):
    """Bytes `[5, 6, 3]`: a light on the left or the right; pointing at it pays."""

    observation_space = Box(0, 255, (5, 6, 3), np.uint8)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return self.show(), {}

    def show(self):
        self.side = int(self.np_random.integers(2))
        picture = np.zeros((5, 6, 3), np.uint8)
        picture[1:4, 3 * self.side + 1, 0] = 255
        return picture

    def step(self, action):
        reward = float(action == self.side)
        return self.show(), reward, bool(self.np_random.random() < 0.1), False, {}


def test_pictures_of_bytes_are_learned_from_with_the_preset_for_images():
    model = surefoot.UADQN(
        Picture(), learning_starts=200, target_period=100, replay_capacity=2_000, discount=0.5
    )
    assert model.spec.preset == "minatar"
    assert model.spec.network == "minatar"
    model.learn(1_200, progress=False)
    assert model._trainer._state.train.replay.storage.obs.dtype == np.uint8
    found = model.evaluate(20, env=Picture())
    assert np.sum(found.returns) / np.sum(found.lengths) > 0.95


def test_discrete_observations_are_learned_from():
    settings = {"learning_starts": 100, "target_period": 50, "replay_capacity": 5_000, "learning_rate": 1e-3}
    model = surefoot.QRDQN(
        "FrozenLake-v1",
        env_kwargs={"is_slippery": False},
        network="mlp:32",
        final_epsilon_step=2_000,
        final_epsilon=0.2,
        discount=0.9,
        **settings,
    )
    model.learn(5_000, progress=False)
    assert model.evaluate(10).mean == 1
    assert model.predict(0)[0] in {1, 2}
    assert model.predict(np.array([0, 1]))[0].shape == (2,)


def test_a_callback_that_fails_costs_nothing_of_what_was_learned(tmp_path):
    def fails(progress):
        if progress.step == 60:
            raise RuntimeError("no connection")

    model = surefoot.DQN(CLIFF, seed=4, **QUICK)
    with pytest.raises(RuntimeError, match="no connection"):
        model.learn(100, out=tmp_path / "run", log_every=20, callbacks=fails, progress=False)
    again = surefoot.resume(tmp_path / "run", progress=False)
    assert again.num_timesteps == 100
    assert same(again, surefoot.DQN(CLIFF, seed=4, **QUICK).learn(100, progress=False))


def test_a_directory_of_someone_elses_is_left_as_it_was(tmp_path):
    (tmp_path / "letters").write_text("dear")
    with pytest.raises(UserError, match="already holds letters"):
        surefoot.DQN(CLIFF, **QUICK).learn(10, out=tmp_path, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]


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


def test_an_evaluation_that_fails_costs_nothing_of_what_was_learned(tmp_path):
    class Broken(TwoArms):
        def reset(self, **_):
            raise RuntimeError("no power")

    model = surefoot.DQN(TwoArms(), **QUICK)
    plan = {"log_every": 20, "eval_every": 60, "eval_env": Broken(), "progress": False}
    with pytest.raises(FaultyEnvironmentError, match="no power"):
        model.learn(100, out=tmp_path / "run", **plan)
    again = surefoot.resume(tmp_path / "run", env=TwoArms(), eval_env=TwoArms(), progress=False)
    assert again.num_timesteps == 100


def test_a_run_in_an_object_asks_for_it_again(tmp_path):
    odd = gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda reward: -reward)
    surefoot.DQN(odd, **QUICK).learn(40, out=tmp_path, progress=False)
    with pytest.raises(UserError, match=r"env: CartPole-v1 was given as an object, accepted: give it again"):
        surefoot.resume(tmp_path, 60, progress=False)
    assert surefoot.resume(tmp_path, 60, env=odd, progress=False).num_timesteps == 60


def test_images_in_any_order_of_memory_are_taken():
    class Turned(Picture):
        def show(self):
            return np.asfortranarray(super().show())

    model = surefoot.DQN(Turned(), network="mlp:8", learning_starts=20, replay_capacity=100)
    assert model.learn(50, progress=False).num_timesteps == 50


def test_a_hosted_model_of_a_compiled_environment_goes_on_by_its_id():
    model = surefoot.DQN(CLIFF, driver="hosted", **QUICK).learn(30, progress=False)
    assert model.learn(30, env=CLIFF, progress=False).num_timesteps == 60


def test_numbers_of_numpys_are_numbers(tmp_path):
    settings = {**QUICK, "learning_rate": np.float32(1e-3), "batch_size": np.int64(4)}
    model = surefoot.DQN(CLIFF, seed=np.int64(3), **settings)
    model.learn(np.int64(40), out=tmp_path, progress=False)
    assert surefoot.load(tmp_path).num_timesteps == 40


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
    assert build(model.spec, None) is build(model.spec, None)
    with jax.enable_x64(True):
        assert build(model.spec, None) is not model._trainer.agent
