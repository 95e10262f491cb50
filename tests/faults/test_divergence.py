"""Numbers that become NaN or infinite, replays that do not fit, seeds, and long runs."""

import json
import subprocess
import sys
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import surefoot
from surefoot.errors import UserError
from surefoot.model import MODELS
from surefoot.runs import checkpoint, directory
from surefoot.runs.divergence import DivergenceError
from surefoot.runs.log_files import read_metrics
from surefoot.system import memory
from surefoot.training.episode_seeds import episode_seed
from tests.faults.helpers import PLAN
from tests.small_models import CLIFF, QUICK


class Rich(gymnasium.Env):
    """Pays more than numbers can hold, from some step on."""

    observation_space = Box(0, 1, (2,))
    action_space = Discrete(2)

    def __init__(self, reward=1e38, after=0):
        self.reward, self.after, self.total = reward, after, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return self.np_random.uniform(size=2).astype(np.float32), {}

    def step(self, action):
        del action
        self.total += 1
        obs = self.np_random.uniform(size=2).astype(np.float32)
        return obs, self.reward if self.total > self.after else 0.0, False, self.total % 10 == 0, {}


CAUSES = {
    "rate compiled": (CLIFF, {"learning_rate": 1e30}),
    "rate hosted": ("CartPole-v1", {"learning_rate": 1e30}),
    "rewards": (Rich, {}),
    "rewards later": (partial(Rich, after=70), {}),
}
QUICK_CASES = {"rate compiled": ("uadqn",), "rewards": ("dqn",)}
"""One agent in a compiled and one in a hosted environment; all cases are left to `make soak`."""


@pytest.mark.parametrize(
    ("cause", "name"),
    [
        pytest.param(*(cause, name), marks=() if name in QUICK_CASES.get(cause, ()) else pytest.mark.slow)
        for cause in CAUSES
        for name in MODELS
    ],
)
def test_divergence_stops_within_a_chunk_and_the_last_good_checkpoint_stays(tmp_path, reached, cause, name):
    env, settings = CAUSES[cause]
    given = env if isinstance(env, str) else env()
    model = MODELS[name](given, seed=3, **{**QUICK, "replay_capacity": 500, **settings})
    with pytest.raises(DivergenceError, match=r"became NaN or infinite at step \d+") as error:
        model.learn(3_000, out=tmp_path / "run", **{**PLAN, "eval_every": None})
    step = error.value.step
    assert "\n" not in str(error.value)
    assert step > QUICK["learning_starts"]
    # Steps are made in pieces that end where the log is due, every 20.
    good = directory.newest_checkpoint(tmp_path / "run")
    assert good.manifest.step <= step + 20
    assert read_metrics(tmp_path / "run") == [] or read_metrics(tmp_path / "run")[-1]["step"] <= step + 20
    saved = surefoot.load(good.path, None if isinstance(env, str) else Rich())
    obs = np.full(saved.observation_space.shape, 0.5, np.float32)
    assert np.all(np.isfinite(saved.beliefs(obs).mean))
    (evidence,) = (tmp_path / "run" / "checkpoints").glob("diverged_*")
    manifest = checkpoint.manifest_of(evidence)
    assert manifest.notes["quantity"] in str(error.value)
    assert manifest.step == step
    batch = checkpoint.read(evidence, manifest, "batch", None)
    assert batch["reward"].shape == (QUICK["batch_size"],)
    if isinstance(given, Rich):
        assert np.max(batch["reward"]) == np.float32(1e38)
    what = "learning rate 1e30" if settings else "rewards 1e38"
    reached("divergence", f"{name}, {what}", "stopped within a chunk, last good checkpoint kept")


def test_the_saved_batch_is_the_one_after_which_training_diverged(tmp_path):
    """The first update is the one that spoils the networks: its batch is the replay's, drawn by its key."""
    model = surefoot.DQN(CLIFF, seed=3, **{**QUICK, "learning_rate": 1e30})
    with pytest.raises(DivergenceError) as error:
        model.learn(200, out=tmp_path / "run", **PLAN)
    calm = surefoot.DQN(CLIFF, seed=3, **QUICK).learn(error.value.step, progress=False)
    storage = calm._live_run._state.train.replay.storage
    rows = {tuple(np.asarray(row).tolist()) for row in storage.obs[: error.value.step]}
    assert {tuple(row.tolist()) for row in np.asarray(error.value.batch.obs)} <= rows


def test_a_replay_that_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    model = surefoot.DQN(CLIFF, **{**QUICK, "replay_capacity": 10**12})
    with pytest.raises(
        UserError, match=r"replay_capacity: got 1,000,000,000,000, which takes 97,000,000,000,00\d bytes"
    ) as e:
        model.learn(10, progress=False)
    assert "that are available" in str(e.value)
    monkeypatch.setattr(memory, "available_bytes", lambda: 5_000)
    with pytest.raises(
        UserError, match=r"takes 5,824 bytes of memory, accepted: a capacity that fits into the 5,000"
    ):
        surefoot.DQN(CLIFF, **QUICK).learn(10, progress=False)


def test_no_two_runs_or_environments_share_a_stream(amount, reached):
    runs = amount(1_000, 5_000)
    streams = {
        tuple(episode_seed(seed, environment, episode) for episode in range(2))
        for seed in range(runs)
        for environment in range(16)
    }
    assert len(streams) == runs * 16
    reached("seeds", f"{runs:,} run seeds x 16 environments", f"{len(streams):,} distinct streams")


@pytest.mark.parametrize(
    "env",
    [
        pytest.param(CLIFF, id="compiled", marks=pytest.mark.slow),
        pytest.param("CartPole-v1", id="hosted", marks=pytest.mark.slow),
    ],
)
def test_a_long_run_compiles_nothing_new_and_needs_no_more_memory(tmp_path, amount, reached, env):
    """In a process of its own, so that what other tests leave behind is not counted."""
    updates = amount(40_000, 1_000_000) if env == CLIFF else amount(4_000, 200_000)
    arguments = [env, "10000" if env == CLIFF else "5000", str(updates), str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.long_run", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["compiled"] == 0
    growth = found["grown_bytes"] / 2**20 / (updates / 100_000)
    assert growth < 2 * max(1, 100_000 / updates)
    reached(
        "memory",
        f"{updates:,} updates ({'compiled' if env == CLIFF else 'hosted'})",
        f"no recompilation, {growth:.2f} MB per 100,000 updates",
    )
