"""Numbers that leave the numbers, logs that are torn, seeds, memory, and checkpoints of older versions."""

import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import surefoot
from surefoot.model import MODELS
from surefoot.runs import checkpoint, directory
from surefoot.system import memory
from surefoot.runs.divergence import DivergenceError
from surefoot.runs.log_files import EPISODES, METRICS, read_episodes, read_metrics, rewind
from surefoot.training.episode_seeds import episode_seed
from surefoot.errors import UserError

sys.path.insert(0, str(Path(__file__).parent))
from helpers import CLIFF, PLAN, QUICK, assert_same_run


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


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize(
    ("env", "settings"),
    [
        (CLIFF, {"learning_rate": 1e30}),
        ("CartPole-v1", {"learning_rate": 1e30}),
        (Rich, {}),
        (partial(Rich, after=70), {}),
    ],
    ids=["rate compiled", "rate hosted", "rewards", "rewards later"],
)
def test_a_blow_up_stops_within_a_chunk_and_the_last_good_is_kept(tmp_path, reached, name, env, settings):
    place = env if isinstance(env, str) else env()
    model = MODELS[name](place, seed=3, **{**QUICK, "replay_capacity": 500, **settings})
    with pytest.raises(DivergenceError, match=r"not finite at step \d+") as error:
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
    (beside,) = (tmp_path / "run" / "checkpoints").glob("unhealthy_*")
    manifest = checkpoint.manifest_of(beside)
    assert manifest.notes["quantity"] in str(error.value)
    assert manifest.step == step
    batch = checkpoint.read(beside, manifest, "batch", None)
    assert batch["reward"].shape == (QUICK["batch_size"],)
    if isinstance(place, Rich):
        assert np.max(batch["reward"]) == np.float32(1e38)
    what = "learning rate 1e30" if settings else "rewards 1e38"
    reached("numeric blow-up", f"{name}, {what}", "stopped within a chunk, last good kept")


def test_the_batch_beside_it_is_the_one_that_did_it(tmp_path):
    """The first update is the one that spoils the networks: its batch is the replay's, drawn by its key."""
    model = surefoot.DQN(CLIFF, seed=3, **{**QUICK, "learning_rate": 1e30})
    with pytest.raises(DivergenceError) as error:
        model.learn(200, out=tmp_path / "run", **PLAN)
    calm = surefoot.DQN(CLIFF, seed=3, **QUICK).learn(error.value.step, progress=False)
    storage = calm._trainer._state.train.replay.storage
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
    with pytest.raises(UserError, match=r"takes 5,824 bytes of memory, accepted: what fits into the 5,000"):
        surefoot.DQN(CLIFF, **QUICK).learn(10, progress=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of 100 steps that was cut at 80, with the log as it was then."""
    out = tmp_path_factory.mktemp("torn") / "run"
    surefoot.DQN(CLIFF, seed=3, **QUICK).learn(100, out=out, **PLAN)
    return out


@pytest.mark.parametrize("name", [METRICS, EPISODES])
def test_a_log_torn_at_any_byte_of_its_last_two_records_is_mended(tmp_path, run, reached, name):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    good = directory.newest_checkpoint(run)
    whole = {each: (run / each).read_bytes() for each in (METRICS, EPISODES)}
    last_two = len(b"".join(whole[name].splitlines(keepends=True)[-2:]))
    for cut in range(last_two + 1):
        (copy / name).write_bytes(whole[name][: len(whole[name]) - cut])
        assert rewind(copy, good.manifest.step, good.manifest.notes["log"]) == []
        for each in (METRICS, EPISODES):
            assert (copy / each).read_bytes() == whole[each]
    steps = [line["step"] for line in read_metrics(copy)]
    assert steps == sorted({*range(20, 101, 20), *range(30, 101, 30)})
    assert [row.episode for row in read_episodes(copy)] == list(range(1, len(read_episodes(copy)) + 1))
    reached("torn log", f"{name} cut at {last_two + 1} places", "mended, no step twice or missing")


def test_the_torn_log_of_a_finished_run_is_mended_too(tmp_path, run):
    surefoot.DQN(CLIFF, seed=3, **QUICK).learn(107, out=tmp_path / "run", **PLAN)
    whole = {name: (tmp_path / "run" / name).read_bytes() for name in (METRICS, EPISODES)}
    assert read_metrics(tmp_path / "run")[-1]["step"] == 107
    for name, cut in ((METRICS, 15), (METRICS, 300), (EPISODES, 5)):
        (tmp_path / "run" / name).write_bytes(whole[name][:-cut])
        surefoot.resume(tmp_path / "run", progress=False)
        assert {each: (tmp_path / "run" / each).read_bytes() for each in whole} == whole
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    with (copy / "timing.jsonl").open("ab") as file:
        file.write(b"\0\0\0\n")
    assert surefoot.resume(copy, 110, progress=False).num_timesteps == 110


@pytest.mark.parametrize("cut", [1, 40, 150])
def test_a_run_with_a_torn_log_goes_on_as_if_nothing_had_been(tmp_path, run, cut):
    longer = tmp_path / "longer"
    surefoot.DQN(CLIFF, seed=3, **QUICK).learn(150, out=longer, **PLAN)
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    for name in (METRICS, EPISODES):
        path = copy / name
        path.write_bytes(path.read_bytes()[:-cut])
    surefoot.resume(copy, 150, progress=False)
    assert_same_run(longer, copy)


def test_no_two_runs_or_environments_share_a_stream(amount, reached):
    runs = amount(1_000, 5_000)
    streams = {
        tuple(episode_seed(seed, environment, episode) for episode in range(2))
        for seed in range(runs)
        for environment in range(16)
    }
    assert len(streams) == runs * 16
    reached("seeds", f"{runs:,} run seeds x 16 environments", f"{len(streams):,} distinct streams")


@pytest.mark.parametrize("env", [CLIFF, "CartPole-v1"], ids=["compiled", "hosted"])
def test_a_long_run_compiles_nothing_new_and_needs_no_more_memory(tmp_path, amount, reached, env):
    """In a process of its own, so that what other tests leave behind is not counted."""
    updates = amount(100_000, 1_000_000) if env == CLIFF else amount(20_000, 200_000)
    script = Path(__file__).with_name("long_run.py")
    arguments = [env, "20000" if env == CLIFF else "5000", str(updates), str(tmp_path / "run")]
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["compiled"] == 0
    growth = found["grown_bytes"] / 2**20 / (updates / 100_000)
    assert growth < 2 * max(1, 100_000 / updates)
    reached(
        "memory",
        f"{updates:,} updates ({'compiled' if env == CLIFF else 'hosted'})",
        f"no recompilation, {growth:.2f} MB per 100,000 updates",
    )


DATA = Path(__file__).with_name("data")


@pytest.mark.parametrize("version", sorted(path.name for path in DATA.glob("format_*")))
def test_a_checkpoint_of_an_older_version_still_loads_and_answers_the_same(version, reached):
    expected = json.loads((DATA / version / "expected.json").read_text())
    for name, said in expected.items():
        model = surefoot.load(DATA / version / name)
        found = model.beliefs(np.array(said["obs"], model.observation_space.dtype))
        for field, values in said["beliefs"].items():
            np.testing.assert_allclose(getattr(found, field), values, rtol=1e-4, atol=1e-5)
        steps = model.num_timesteps
        assert steps == said["steps"]
        assert model.learn(25, progress=False).num_timesteps == steps + 25
    reached(
        "old format", f"{len(expected)} checkpoints of {version}", "load, answer the same, go on learning"
    )
