"""Learning: in pieces, in other environments, with callbacks, through faults."""

import gymnasium
import numpy as np
import optax
import pytest
from gymnasium.spaces import Box, Discrete

import surefoot
from surefoot.envs import windy_cliff
from surefoot.errors import FaultyEnvironmentError, UserError
from tests.small_models import CLIFF, QUICK, TwoArms, have_equal_learners


@pytest.mark.parametrize("env", [CLIFF, "CartPole-v1"])
def test_asking_before_learning_changes_nothing_of_what_is_learned(env):
    asked, unasked = (surefoot.DQN(env, seed=4, **QUICK) for _ in range(2))
    before = asked.beliefs(np.zeros(asked.observation_space.shape, np.float32)).mean
    assert have_equal_learners(asked.learn(60, progress=False), unasked.learn(60, progress=False))
    first = surefoot.DQN(env, seed=4, **QUICK).learn(1, progress=False)
    np.testing.assert_array_equal(
        first.beliefs(np.zeros(asked.observation_space.shape, np.float32)).mean, before
    )


def test_learning_in_pieces_is_learning_at_once():
    pieces, whole = (surefoot.QRDQN("CartPole-v1", seed=2, **QUICK) for _ in range(2))
    for count in (10, 50, 40):
        pieces.learn(count, progress=False)
    assert have_equal_learners(pieces, whole.learn(100, progress=False))


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
    model = surefoot.QRDQN(
        Picture(),
        learning_starts=100,
        target_period=50,
        replay_capacity=2_000,
        batch_size=16,
        learning_rate=1e-3,
        discount=0.5,
        final_epsilon_step=200,
    )
    assert model.spec.preset == "minatar"
    assert model.spec.network == "minatar"
    model.learn(500, progress=False)
    assert model._live_run._state.train.replay.storage.obs.dtype == np.uint8
    found = model.evaluate(20, env=Picture())
    assert np.sum(found.returns) / np.sum(found.lengths) > 0.95


class Stairs(gymnasium.Env):
    """Action 1 climbs one of three steps, and the top pays 1; action 0 falls back to the bottom."""

    observation_space = Discrete(4, start=5)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.height = self.time = 0
        return np.int64(5), {}

    def step(self, action):
        self.height, self.time = (self.height + 1 if action else 0), self.time + 1
        top = self.height == 3
        return np.int64(5 + self.height), float(top), top, self.time == 20, {}


def test_discrete_observations_are_learned_from():
    settings = {**QUICK, "network": "mlp:32", "batch_size": 16, "learning_rate": 3e-3, "discount": 0.9}
    model = surefoot.QRDQN(Stairs(), final_epsilon_step=300, **settings)
    model.learn(500, progress=False)
    found = model.evaluate(3, env=Stairs())
    np.testing.assert_array_equal(found.returns, [1, 1, 1])
    np.testing.assert_array_equal(found.lengths, [3, 3, 3])
    assert model.predict(5)[0] == 1
    assert model.predict(np.array([5, 6]))[0].shape == (2,)


def test_a_callback_that_fails_costs_nothing_of_what_was_learned(tmp_path):
    def fails(progress):
        if progress.step == 60:
            raise RuntimeError("no connection")

    model = surefoot.DQN(CLIFF, seed=4, **QUICK)
    with pytest.raises(RuntimeError, match="no connection"):
        model.learn(100, out=tmp_path / "run", log_every=20, callbacks=fails, progress=False)
    again = surefoot.resume(tmp_path / "run", progress=False)
    assert again.num_timesteps == 100
    assert have_equal_learners(again, surefoot.DQN(CLIFF, seed=4, **QUICK).learn(100, progress=False))


def test_a_directory_of_someone_elses_is_left_as_it_was(tmp_path):
    (tmp_path / "letters").write_text("dear")
    with pytest.raises(UserError, match="already holds letters"):
        surefoot.DQN(CLIFF, **QUICK).learn(10, out=tmp_path, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]


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


def test_a_run_records_the_environment_that_it_learns_in(tmp_path):
    odd = gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda reward: -reward)
    model = surefoot.DQN("CartPole-v1", **QUICK).learn(40, env=odd, out=tmp_path / "object", progress=False)
    with pytest.raises(UserError, match="was given as an object, accepted: give it again"):
        surefoot.resume(tmp_path / "object", 60, progress=False)
    model.save(tmp_path / "model")
    with pytest.raises(UserError, match="was given as an object, accepted: give it again"):
        surefoot.load(tmp_path / "model").learn(10, progress=False)
    surefoot.DQN("CartPole-v1", **QUICK).learn(40, out=tmp_path / "resumed", progress=False)
    surefoot.resume(tmp_path / "resumed", 60, env=odd, progress=False)
    with pytest.raises(UserError, match="was given as an object, accepted: give it again"):
        surefoot.resume(tmp_path / "resumed", 80, progress=False)
    again = surefoot.DQN(odd, **QUICK).learn(40, env="CartPole-v1", out=tmp_path / "id", progress=False)
    assert again.spec.env_is_object is False
    assert surefoot.resume(tmp_path / "id", 50, progress=False).num_timesteps == 50


class Interrupts(TwoArms):
    """Raises once, at its 50th step, in `step` or in the `reset` that follows it."""

    def __init__(self, error, where):
        self.error, self.where, self.steps = error, where, 0

    def step(self, action):
        self.steps += 1
        if self.steps == 50 and self.where == "step":
            raise self.error
        return super().step(action)

    def reset(self, **options):
        if self.steps == 50 and self.where == "reset":
            self.steps += 1
            raise self.error
        return super().reset(**options)


@pytest.mark.parametrize("where", ["step", "reset"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=["interrupt", "exit"])
def test_whatever_an_environment_raises_costs_nothing_that_was_learned(tmp_path, error, where):
    model = surefoot.DQN(Interrupts(error, where), **QUICK)
    with pytest.raises(type(error)):
        model.learn(200, out=tmp_path / "run", progress=False)
    assert model.num_timesteps == 49
    assert model.predict(np.ones(1, np.float32))[0] in {3, 4}
    model.save(tmp_path / "model")
    assert surefoot.load(tmp_path / "run").num_timesteps == 49
    assert have_equal_learners(surefoot.load(tmp_path / "run"), model)
    assert model.learn(20, progress=False).num_timesteps == 69


def test_an_environment_that_cannot_begin_costs_nothing_of_a_loaded_model(tmp_path):
    class NeverBegins(TwoArms):
        def reset(self, **_):
            raise RuntimeError("no power")

    best = surefoot.DQN(TwoArms(), seed=2, **QUICK).learn(40, progress=False)
    best._live_run.save(tmp_path / "best", best.spec, whole=False)
    loaded = surefoot.load(tmp_path / "best")
    with pytest.raises(FaultyEnvironmentError, match="no power"):
        loaded.learn(10, env=NeverBegins(), progress=False)
    assert have_equal_learners(loaded, best)


def test_two_neighbouring_seeds_at_the_end_of_the_range_differ():
    ends = [surefoot.DQN(CLIFF, seed=2**32 - 1 - back, **QUICK) for back in range(2)]
    assert not have_equal_learners(*ends)


def test_any_optax_transformation_trains_and_is_asked_for_again(tmp_path):
    settings = {**QUICK, "optimiser": optax.chain(optax.clip(1.0), optax.rmsprop(1e-2, momentum=0.9))}
    model = surefoot.UADQN(CLIFF, seed=1, **settings)
    fresh = surefoot.UADQN(CLIFF, seed=1, **settings)
    model.learn(60, out=tmp_path / "run", checkpoint_every=40, progress=False)
    assert not have_equal_learners(model, fresh)
    with pytest.raises(UserError, match="optimiser: this model has one of its own"):
        surefoot.load(tmp_path / "run")
    resumed = surefoot.resume(tmp_path / "run", 80, optimiser=settings["optimiser"], progress=False)
    assert have_equal_learners(resumed, model.learn(20, progress=False))


def test_an_optimiser_can_be_named(tmp_path):
    model = surefoot.DQN(CLIFF, **QUICK, optimiser="optax:sgd").learn(60, out=tmp_path, progress=False)
    assert model.spec.optimiser == "optax:sgd"
    assert surefoot.resume(tmp_path, 70, progress=False).num_timesteps == 70
