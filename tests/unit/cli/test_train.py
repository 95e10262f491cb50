"""`surefoot train`: what it writes, what it shows, what it refuses."""

import json
import subprocess
import sys

import pytest

from surefoot.agents.presets import PRESETS
from surefoot.runs.log_files import read_metrics
from tests.small_models import FLAGS as QUICK
from tests.unit.cli.conftest import CLIFF

MY_ENVIRONMENT = """
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Line(gymnasium.Env):
    action_space = Discrete(2)

    def __init__(self, size=4, trouble_at=None, trouble="nan"):
        self.size, self.trouble_at, self.trouble, self.total = size, trouble_at, trouble, 0
        self.observation_space = Box(0, size, (1,))

    def obs(self):
        return np.array([self.place], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.place = 0
        return self.obs(), {}

    def step(self, action):
        self.total += 1
        if self.total == self.trouble_at:
            if self.trouble == "raise":
                raise RuntimeError("out of line")
            bad = {
                "nan": np.array([np.nan], np.float32),
                "shape": np.zeros(3, np.float32),
                "dtype": np.zeros(1, np.int64),
            }
            if self.trouble == "tuple":
                return self.obs(), 0.0, False, {}
            return bad[self.trouble], 0.0, False, False, {}
        self.place = min(self.place + int(action), self.size)
        return self.obs(), 1.0, self.place == self.size, False, {"moved": bool(action)}


gymnasium.register("Line-v0", Line, max_episode_steps=20)
"""


@pytest.fixture
def here(in_empty_directory):
    """A working directory with an environment of the user's own."""
    # Imported once: Gymnasium warns of a name that is registered again.
    (in_empty_directory / "my_line.py").write_text(MY_ENVIRONMENT)
    return in_empty_directory


@pytest.mark.parametrize("agent", ["dqn", "qrdqn", "bootstrapped", "uadqn"])
@pytest.mark.usefixtures("here")
def test_train_then_evaluate_then_list(run, agent):
    code, out, err = run(*CLIFF, "--agent", agent, "--eval-every", "100", "--eval-episodes", "2")
    assert code == 0
    name = f"surefoot-WindyCliff-v0-{agent}-seed0"
    assert f"runs/{name}: 200 steps, mean return" in out
    assert "best evaluation" in out
    assert f"surefoot evaluate runs/{name}" in out
    assert "200/200 steps" in err
    assert "steps/s" in err
    assert "fell" in err
    code, out, _ = run("evaluate", f"runs/{name}", "--episodes", "3")
    assert code == 0
    assert "3 episodes" in out
    assert "return: mean" in out
    assert "best_000000" in out
    code, out, _ = run("evaluate", f"runs/{name}", "--episodes", "3", "--which", "last")
    assert "step_000000200" in out
    code, out, _ = run("runs")
    assert code == 0
    assert f"runs/{name}" in out
    assert agent in out


def test_the_flags_stand_in_the_configuration(run, here):
    flags = (
        "--seed 7 --out mine --risk-aversion 0.5 --exploration 1.5 --normalise --log-every 50 --driver hosted"
    )
    run(*CLIFF, *flags.split(), "--env-kwargs", '{"wind": 0.2}')
    config = json.loads((here / "mine" / "config.json").read_text())
    assert (config["seed"], config["agent"], config["driver"]) == (7, "uadqn", "hosted")
    assert (config["settings"]["risk"], config["settings"]["exploration"]) == ("mean-sd:0.5", 1.5)
    assert config["env_kwargs"] == {"wind": 0.2}
    assert config["normalise"] is True
    assert config["network"] == "mlp:8"
    assert [line["step"] for line in read_metrics(here / "mine")] == [50, 100, 150, 200]


def test_the_calibrated_preset_changes_what_suits_the_observations(run, here):
    run(*CLIFF, "--preset", "calibrated", "--out", "mine")
    config = json.loads((here / "mine" / "config.json").read_text())
    assert config["preset"] == "calibrated"
    settings = config["settings"]
    assert (settings["levels"], settings["auxiliary_networks"]) == ("midpoints", 5)
    assert settings["learning_rate"] == PRESETS["control"].common["learning_rate"]


def test_two_runs_without_out_get_a_directory_each(run, here):
    for _ in range(2):
        assert run(*CLIFF)[0] == 0
    names = {path.name for path in (here / "runs").iterdir()}
    assert names == {"surefoot-WindyCliff-v0-uadqn-seed0", "surefoot-WindyCliff-v0-uadqn-seed0-2"}


def test_an_environment_of_ones_own_is_found_in_the_present_directory(run, here):
    own = [
        "--env",
        "my_line:Line-v0",
        "--env-kwargs",
        '{"size": 6}',
        "--steps",
        "120",
        "--eval-every",
        "60",
        *QUICK,
    ]
    code, out, err = run("train", *own)
    assert (code, err.count("surefoot:")) == (0, 0)
    assert "moved" in err
    config = json.loads((here / "runs" / "Line-v0-uadqn-seed0" / "config.json").read_text())
    assert config["env"] == "my_line:Line-v0"
    code, out, _ = run("evaluate", "runs/Line-v0-uadqn-seed0", "--episodes", "2")
    assert code == 0
    assert "my_line:Line-v0" in out


def test_posterior_explorer_risk_and_optimiser_are_chosen_by_flags(run, here):
    parts = "--posterior mc-dropout --dropout-rate 0.3 --explorer epsilon-greedy --final-epsilon 0.2"
    others = "--risk mean-sd:0.5 --optimiser optax:sgd --out mine"
    code, _, err = run(*CLIFF, *parts.split(), *others.split())
    assert code == 0, err
    config = json.loads((here / "mine" / "config.json").read_text())
    assert config["optimiser"] == "optax:sgd"
    chosen = {"posterior": "mc-dropout", "dropout_rate": 0.3, "explorer": "epsilon-greedy"}
    assert chosen.items() <= config["settings"].items()
    assert config["settings"]["risk"] == "mean-sd:0.5"
    assert "prior_gain" not in config["settings"]
    assert run("train", "--resume", "mine", "--steps", "220")[0] == 0


def test_the_flag_of_version_0_1_for_thompson_samples_is_understood(run, here):
    assert run(*CLIFF, "--thompson", "episode", "--out", "mine")[0] == 0
    config = json.loads((here / "mine" / "config.json").read_text())
    assert config["settings"]["explorer"] == "thompson-episode"


def test_help_mentions_resume_and_resume_has_help(run):
    _, out, _ = run("train", "--help")
    assert "--resume RUN" in out
    for args in (["--resume", "--help"], ["--resume", "somewhere", "--help"], ["--help", "--resume"]):
        code, out, _ = run("train", *args)
        assert code == 0
        assert "--resume RUN" in out
        assert "--steps INT" in out
        assert "--discount" not in out


def test_help_shows_the_settings_of_the_agent_and_the_presets_values(run):
    _, out, _ = run("train", "--agent", "dqn", "--help")
    assert "--final-epsilon" in out
    assert "--quantiles" not in out
    _, out, _ = run("train", "--posterior", "mc-dropout", "--help")
    assert "--dropout-rate" in out
    assert "--prior-gain" not in out
    _, out, _ = run("train", "--preset", "minatar", "--help")
    assert "(default: 5000)" in out.split("--learning-starts")[1][:150]


@pytest.mark.parametrize("trouble", ["nan", "shape", "dtype", "tuple", "raise"])
def test_trouble_in_mid_run_is_one_line_and_nothing_is_lost(run, here, trouble):
    kwargs = json.dumps({"trouble_at": 150, "trouble": trouble})
    own = ["--env", "my_line:Line-v0", "--env-kwargs", kwargs, "--steps", "400", "--out", "mine", *QUICK]
    code, out, err = run("train", *own, "--eval-every", "1000")
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("surefoot: my_line:Line-v0, episode ")
    assert "accepted: " in last or "step raised " in last
    assert read_metrics(here / "mine")[-1]["step"] == 149
    assert (here / "mine" / "checkpoints" / "step_000000149" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["train"], ["--env"]),
        (["train", "--env", "Pendulum-v1"], ["Pendulum-v1 has actions Box", "accepted: Discrete"]),
        (
            ["train", "--env", "Blackjack-v1"],
            ["Blackjack-v1 has observations Tuple", "accepted: Box or Discrete"],
        ),
        (["train", "--env", "CartPol-v1"], ["unknown environment CartPol-v1", "such as CartPole-v1"]),
        (["train", "--env", "nowhere.to:Be-v0"], ["unknown environment nowhere.to:Be-v0", "No module named"]),
        (
            ["train", "--env", "CartPole-v1", "--agent", "uadqm"],
            ["--agent: got uadqm", "dqn, qrdqn, bootstrapped, uadqn"],
        ),
        (["train", "--env", "CartPole-v1", "--steps", "0"], ["--steps: got 0", "whole numbers from 1"]),
        (["train", "--env", "CartPole-v1", "--steps", "-5"], ["--steps: got -5", "whole numbers from 1"]),
        (["train", "--env", "CartPole-v1", "--steps", "many"], ["--steps", "many"]),
        (["train", "--env", "CartPole-v1", "--eval-every", "-1"], ["--eval-every: got -1"]),
        (
            ["train", "--env", "CartPole-v1", "--env-kwargs", "size=8"],
            ["--env-kwargs: got size=8", "a JSON object"],
        ),
        (
            ["train", "--env", "CartPole-v1", "--env-kwargs", "[1]"],
            ["--env-kwargs: got [1]", "a JSON object"],
        ),
        (
            ["train", "--env", "CartPole-v1", "--env-kwargs", '{"size": 8}'],
            ["CartPole-v1 does not take {'size': 8}"],
        ),
        (["train", "--env", "CartPole-v1", "--network", "mlp:x"], ["--network: got mlp:x", "mlp:64,64"]),
        (["train", "--env", "CartPole-v1", "--preset", "atari"], ["--preset: got atari", "control, minatar"]),
        (["train", "--env", "CartPole-v1", "--learning-rate", "0"], ["--learning-rate: got 0", "above 0"]),
        (
            ["train", "--env", "CartPole-v1", "--driver", "compiled"],
            ["--driver: got compiled for CartPole-v1"],
        ),
        (["train", "--env", "CartPole-v1", "--seed", "-1"], ["--seed: got -1", "from 0"]),
        (["train", "--env", "CartPole-v1", "--risk", "bold"], ["--risk: got bold", "mean-sd:LAMBDA"]),
        (
            ["train", "--env", "CartPole-v1", "--agent", "dqn", "--risk-aversion", "1"],
            ["risk: got mean-sd:1 for an agent that learns without one"],
        ),
        (
            ["train", "--env", "CartPole-v1", "--risk", "mean-sd:1", "--risk-aversion", "2"],
            ["--risk: got mean-sd:1 and --risk-aversion 2", "one of the two"],
        ),
        (["train", "--env", "CartPole-v1", "--seed", "4294967296"], ["--seed: got 4294967296", "2^32 - 1"]),
        (["train", "--env", "CartPole-v1", "--levels", "x"], ["--levels", "got x", "paper, midpoints"]),
        (
            ["train", "--env", "CartPole-v1", "--posterior", "x"],
            ["--posterior: got x", "anchored, mc-dropout"],
        ),
        (["train", "--env", "CartPole-v1", "--explorer", "no.such:K"], ["--explorer: got no.such:K"]),
        (["train", "--env", "CartPole-v1", "--dropout-rate", "0.1"], ["--dropout-rate", "not an argument"]),
        (["train", "--env", "CartPole-v1", "--thompson", "x"], ["--thompson: got x", "step, episode"]),
        (["train", "--env", "CartPole-v1", "--eval-every", "often"], ["--eval-every", "often"]),
        (["train", "--resume", "nowhere"], ["nowhere", "no run here"]),
        (["train", "--env", "FrozenLake-v1", "--normalise"], ["normalise", "accepted: vectors"]),
        (["train", "--env", "CartPole-v1", "--stepz", "3"], ["--stepz", "did you mean --steps?"]),
        (["evaluate", "nowhere"], ["nowhere", "accepted"]),
        (["evaluate", "."], ["no model here", "accepted: a directory that save or train wrote"]),
        (["runs", "nowhere"], ["nowhere", "accepted"]),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(run, here, args, says):
    before = sorted(here.rglob("*"))
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert err.startswith("surefoot: ")
    assert err.count("\n") == 1
    for words in says:
        assert words in err
    assert sorted(here.rglob("*")) == before


def test_an_existing_run_is_refused_and_kept(run, here):
    run(*CLIFF, "--out", "mine")
    before = {path: path.read_bytes() for path in (here / "mine").rglob("*") if path.is_file()}
    code, _, err = run(*CLIFF, "--out", "mine")
    assert code == 2
    assert err.splitlines()[-1].startswith("surefoot: --out: mine already holds ")
    assert {path: path.read_bytes() for path in (here / "mine").rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("here")
def test_the_command_itself_runs_from_another_directory():
    command = [
        sys.executable,
        "-c",
        "from surefoot.cli import main; main()",
        "train",
        "--env",
        "my_line:Line-v0",
    ]
    done = subprocess.run([*command, "--steps", "60", *QUICK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "runs/Line-v0-uadqn-seed0: 60 steps" in done.stdout
    assert "Traceback" not in done.stderr
