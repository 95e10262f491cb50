"""A run that was stopped and resumed is, bit for bit, the run that was never stopped."""

import os
import signal
from functools import cache

import numpy as np
import pytest

import surefoot
from surefoot.errors import UserError
from surefoot.model import MODELS
from surefoot.runs import directory, schedule, training_loop
from tests.faults.helpers import PLAN, assert_same_run
from tests.small_models import CLIFF, QUICK, quick_with


def begun(env, name, out, steps, callbacks=(), **more):
    model = MODELS[name](env, seed=3, **QUICK, **more)
    return model.learn(steps, out=out, callbacks=callbacks, **PLAN)


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory):
    """Runs that were never stopped, to compare with, each made once."""

    @cache
    def run(env, name):
        out = tmp_path_factory.mktemp("whole") / "run"
        begun(env, name, out, 130)
        return out

    return run


@pytest.mark.parametrize("env", [CLIFF, "CartPole-v1"], ids=["compiled", "hosted"])
@pytest.mark.parametrize("name", quick_with("uadqn", "bootstrapped"))
def test_stopped_and_resumed_is_the_same_as_never_stopped(tmp_path, never_stopped, env, name):
    whole, stopped, longer = never_stopped(env, name), tmp_path / "stopped", tmp_path / "longer"
    begun(env, name, stopped, 130, callbacks=lambda progress: progress.step < 60)
    assert directory.last_checkpoint(stopped).name == "step_000000060"
    surefoot.resume(stopped, progress=False)
    assert_same_run(whole, stopped)
    begun(env, name, longer, 73)
    surefoot.resume(longer, 130, progress=False)
    assert_same_run(whole, longer)


@pytest.mark.parametrize("env", [CLIFF, "CartPole-v1"], ids=["compiled", "hosted"])
@pytest.mark.parametrize(
    "step", [pytest.param(20, marks=pytest.mark.slow), 30, pytest.param(60, marks=pytest.mark.slow)]
)
def test_a_signal_loses_nothing_even_in_an_evaluation(tmp_path, never_stopped, env, step, monkeypatch):
    whole = never_stopped(env, "uadqn")
    run = training_loop.Evaluator.run

    def signalled(*args, **options):
        if model.num_timesteps == step:
            os.kill(os.getpid(), signal.SIGINT)
        return run(*args, **options)

    monkeypatch.setattr(training_loop.Evaluator, "run", signalled)
    model = surefoot.UADQN(env, seed=3, **QUICK)

    def interrupt(progress):
        if step == 20 and progress.step == 20:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        model.learn(130, out=tmp_path / "run", callbacks=interrupt, **PLAN)
    monkeypatch.undo()
    surefoot.resume(tmp_path / "run", progress=False)
    assert_same_run(whole, tmp_path / "run")


def test_normalisation_and_thompson_samples_of_an_episode_are_resumed_too(tmp_path):
    more = {"normalise": True, "explorer": "thompson-episode", "exploration": 4.0}
    begun("CartPole-v1", "uadqn", tmp_path / "whole", 130, **more)
    begun("CartPole-v1", "uadqn", tmp_path / "cut", 47, **more)
    surefoot.resume(tmp_path / "cut", 130, progress=False)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_a_finished_run_is_not_changed(tmp_path):
    begun(CLIFF, "dqn", tmp_path / "run", 50)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    model = surefoot.resume(tmp_path / "run", progress=False)
    assert model.num_timesteps == 50
    after = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert after == before
    with pytest.raises(UserError, match="steps: got 10, accepted: at least the 50 that are made"):
        surefoot.resume(tmp_path / "run", 10, progress=False)


def test_a_model_that_had_learned_before_its_run_is_resumed(tmp_path):
    model = surefoot.QRDQN(CLIFF, seed=3, **QUICK).learn(40, progress=False)
    model.learn(5, out=tmp_path / "run", **PLAN)
    (directory.last_checkpoint(tmp_path / "run")).rename(tmp_path / "gone")
    again = surefoot.resume(tmp_path / "run", progress=False)
    assert again.num_timesteps == 45
    obs = np.zeros(11, np.float32)
    np.testing.assert_array_equal(again.beliefs(obs).mean, model.beliefs(obs).mean)


def test_the_newest_three_checkpoints_are_kept_and_the_best(tmp_path):
    begun(CLIFF, "dqn", tmp_path / "run", 200)
    names = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert names[1:] == ["step_000000150", "step_000000175", "step_000000200"]
    assert names[0] in {f"best_{step:09d}" for step in range(30, 200, 30)}


def test_resuming_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UserError, match="no run here"):
        surefoot.resume(tmp_path)


@pytest.mark.parametrize("env", [CLIFF, "CartPole-v1"], ids=["compiled", "hosted"])
@pytest.mark.parametrize("cut", [260, pytest.param(500, marks=pytest.mark.slow)])
def test_automatic_evaluations_do_not_depend_on_where_a_run_was_cut(tmp_path, env, cut, monkeypatch):
    """The evaluation at the end of the shorter run is none of the longer one's."""
    monkeypatch.setattr(schedule, "AUTO_EVERY", 100)
    plan = {**PLAN, "eval_every": "auto", "eval_episodes": 1, "checkpoint_every": 100, "log_every": 50}

    def learn(out, steps):
        return surefoot.DQN(env, seed=3, **QUICK).learn(steps, out=out, **plan)

    learn(tmp_path / "whole", 520)
    learn(tmp_path / "cut", cut)
    lines = [line for line in directory.read_metrics(tmp_path / "cut") if "eval/mean_reward" in line]
    assert lines[-1]["step"] == cut
    surefoot.resume(tmp_path / "cut", 520, progress=False)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    before = {path: path.read_bytes() for path in (tmp_path / "cut").rglob("*") if path.is_file()}
    surefoot.resume(tmp_path / "cut", progress=False)
    assert before == {path: path.read_bytes() for path in (tmp_path / "cut").rglob("*") if path.is_file()}
