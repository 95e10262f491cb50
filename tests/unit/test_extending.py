"""The package of docs/extending.md, outside of the repository: each part one short file, used everywhere."""

import json
import re
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import surefoot
from surefoot.risk import parse_risk
from surefoot.types import Beliefs
from tests import small_models
from tests.small_models import CLIFF, QUICK

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
FILES = dict(re.findall(r"```python\n# (my_package/\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL))
MAX_LINES = {"my_package/double_dqn.py": 40}
"""The agent's example is held to fewer lines than the others' 60."""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A directory with the package, from which it is imported."""
    home = tmp_path_factory.mktemp("users")
    (home / "my_package").mkdir()
    for name, text in FILES.items():
        (home / name).write_text(text)
    sys.path.insert(0, str(home))
    yield home
    sys.path.remove(str(home))
    for name in [name for name in sys.modules if name.split(".")[0] == "my_package"]:
        del sys.modules[name]


@pytest.fixture
def here(package, tmp_path, monkeypatch):  # noqa: ARG001 (it must be there)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_part_is_one_file_of_few_lines():
    assert len(FILES) == 4
    for name, text in FILES.items():
        assert len(text.splitlines()) <= MAX_LINES.get(name, 60), name


FLAGS = [*small_models.FLAGS, "--steps", "80", "--eval-every", "40", "--eval-episodes", "2"]


@pytest.mark.parametrize(
    ("env", "flags", "setting"),
    [
        pytest.param(
            *(CLIFF, ["--explorer", "my_package.ucb:KIND", "--confidence", "2"], ("confidence", 2.0)),
            marks=pytest.mark.slow,
        ),
        ("CartPole-v1", ["--posterior", "my_package.ensemble:KIND"], ("ensemble_gain", 2**0.5)),
        pytest.param(
            *(CLIFF, ["--risk", "my_package.cvar:KIND:0.25"], ("risk", "my_package.cvar:KIND:0.25")),
            marks=pytest.mark.slow,
        ),
        ("CartPole-v1", ["--agent", "my_package.double_dqn:KIND"], ("final_epsilon_step", 10_000)),
    ],
    ids=["explorer, compiled", "posterior, hosted", "risk, compiled", "agent, hosted"],
)
def test_the_command_trains_resumes_and_evaluates_with_it(run, here, env, flags, setting):
    code, out, err = run("train", "--env", env, "--out", "mine", *flags, *FLAGS)
    assert code == 0, err
    config = json.loads((here / "mine" / "config.json").read_text())
    assert config["settings"][setting[0]] == setting[1]
    code, _, err = run("train", "--resume", "mine", "--steps", "100")
    assert code == 0, err
    code, out, err = run("evaluate", "mine", "--episodes", "2", "--which", "last")
    assert code == 0, err
    assert "step_000000100" in out


@pytest.mark.usefixtures("here")
def test_help_shows_the_settings_of_a_part_of_ones_own(run):
    _, out, _ = run("train", "--explorer", "my_package.ucb:KIND", "--help")
    assert "--confidence" in out
    assert "Epistemic standard deviations added" in " ".join(out.replace("│", " ").split())


@pytest.mark.usefixtures("package")
def test_python_takes_them_too(tmp_path):
    model = surefoot.Model("CartPole-v1", agent="my_package.double_dqn:KIND", **QUICK)
    assert type(model).__name__ == "Model"
    model.learn(60, progress=False).save(tmp_path / "model")
    again = surefoot.load(tmp_path / "model")
    assert type(again).__name__ == "DoubleDQN"
    assert again.num_timesteps == 60
    settings = {"explorer": "my_package.ucb:KIND", "posterior": "my_package.ensemble:KIND"}
    cautious = surefoot.UADQN(CLIFF, confidence=3.0, auxiliary_networks=3, **settings, **QUICK)
    cautious.learn(60, progress=False)
    obs = np.full(11, 0.5, np.float32)
    assert cautious.predict(obs, risk="my_package.cvar:KIND:0.1")[0] in range(4)
    beliefs = cautious.beliefs(obs)
    upper = beliefs.mean + 3.0 * beliefs.epistemic
    assert cautious.predict(obs, deterministic=False)[0] == int(jnp.argmax(upper))


@pytest.mark.usefixtures("package")
def test_cvar_of_a_uniform_return_is_half_its_level():
    quantiles = (jnp.arange(1, 101, dtype=float) - 0.5) / 100  # Of a return that is uniform from 0 to 1.
    beliefs = Beliefs(mean=jnp.array([0.5]), quantiles=quantiles[None])
    for alpha in (0.1, 0.25, 1.0):
        np.testing.assert_allclose(
            parse_risk(f"my_package.cvar:KIND:{alpha}")(beliefs), [alpha / 2], rtol=1e-3
        )


def test_a_sweep_runs_an_agent_of_ones_own(run, here):
    (here / "plan.toml").write_text(
        f"""
        [defaults]
        env = "{CLIFF}"
        steps = 60
        network = "mlp:8"
        learning_starts = 30
        batch_size = 4
        replay_capacity = 100
        eval_every = 0
        [[runs]]
        agent = "my_package.double_dqn:KIND"
        """
    )
    package = next(path for path in map(Path, sys.path) if (path / "my_package").is_dir())
    (here / "my_package").symlink_to(package / "my_package")
    code, out, err = run("sweep", "plan.toml")
    assert code == 0, err + out
    assert "1 done" in out
