"""The audit of others' models: QR-DQN of Stable-Baselines3-contrib, one file and an ensemble of them."""

import gymnasium
import numpy as np
import pytest

from surefoot import cli, estimators
from surefoot.audit import Config, audit, sb3
from surefoot.envs.resolve import resolve_env
from surefoot.errors import UserError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    pytest.importorskip("torch")
    contrib = pytest.importorskip("sb3_contrib")
    directory = tmp_path_factory.mktemp("sb3")
    paths = []
    for seed in range(2):
        policy = {"net_arch": [16], "n_quantiles": 10}
        model = contrib.QRDQN(
            "MlpPolicy", "CartPole-v1", policy_kwargs=policy, seed=seed, learning_starts=100, device="cpu"
        ).learn(600)
        paths.append(directory / f"model{seed}.zip")
        model.save(paths[-1])
    return paths


@pytest.fixture
def cartpole():
    handle = resolve_env("CartPole-v1", driver="hosted")
    yield handle
    handle.gym.close()


def test_one_model_acts_as_stable_baselines3_does_and_has_the_variance_of_its_quantiles(files, cartpole):
    import sb3_contrib

    subject = sb3.load_ensemble(files[:1], cartpole)
    theirs = sb3_contrib.QRDQN.load(files[0], device="cpu")
    env = gymnasium.make("CartPole-v1")
    obs = np.stack([env.observation_space.sample().clip(-2, 2) for _ in range(50)])
    np.testing.assert_array_equal(subject.best(obs), theirs.predict(obs, deterministic=True)[0])
    assert subject.act(obs[0]) == theirs.predict(obs[0], deterministic=True)[0]
    found = subject.beliefs(obs)
    assert found.epistemic is None
    np.testing.assert_allclose(
        found.aleatoric_variance, np.var(np.asarray(found.quantiles), axis=-1), rtol=1e-3, atol=1e-6
    )
    assert subject.discount == theirs.gamma
    np.testing.assert_allclose(subject.levels[[0, -1]], [0.05, 0.95])


def test_several_models_are_an_ensemble_with_both_uncertainties(files, cartpole):
    subject = sb3.load_ensemble(files, cartpole)
    obs = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    alone = [np.asarray(sb3.load_ensemble([path], cartpole).beliefs(obs).quantiles) for path in files]
    found = subject.beliefs(obs)
    np.testing.assert_allclose(
        found.epistemic_variance, estimators.epistemic_variance(*alone), rtol=1e-3, atol=1e-6
    )
    np.testing.assert_allclose(
        found.aleatoric_variance, estimators.aleatoric_variance(*alone), rtol=1e-3, atol=1e-6
    )
    np.testing.assert_allclose(found.quantiles, np.mean(alone, axis=0), rtol=1e-3, atol=1e-6)


def test_an_ensemble_is_audited(files, cartpole):
    found = audit(sb3.load_ensemble(files, cartpole), Config(episodes=8, states=32))
    names = {claim.name for claim in found.claims}
    assert "coverage of the central 80% interval" in names
    assert "AUROC of epistemic sd, visited or shuffled observations" in names
    assert any("targets of its own" in caveat for caveat in found.caveats)


def test_files_are_not_unpickled_unless_they_are_trusted(files, monkeypatch, capsys, tmp_path):
    import sb3_contrib

    monkeypatch.chdir(tmp_path)
    loaded = []
    monkeypatch.setattr(sb3_contrib.QRDQN, "load", lambda *args, **_: loaded.append(args))
    assert cli.run(["audit", "--sb3", str(files[0]), "--env", "CartPole-v1"]) == 2
    assert "can run any code in the file" in capsys.readouterr().err
    assert loaded == []


def test_another_environment_and_a_file_that_is_no_model_are_refused(files, cartpole, tmp_path):
    lake = resolve_env("Acrobot-v1", driver="hosted")
    with pytest.raises(UserError, match="accepted: the spaces of"):
        sb3.load_ensemble(files[:1], lake)
    lake.gym.close()
    (tmp_path / "broken.zip").write_bytes(b"nothing")
    with pytest.raises(UserError, match="is no QR-DQN"):
        sb3.load_ensemble([tmp_path / "broken.zip"], cartpole)
