"""Plans, from TOML to arguments of the command."""

import pytest

from surefoot.sweeps import plan as plans
from surefoot.sweeps.plan import PlannedRun
from surefoot.errors import UserError


def read(tmp_path, text):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return plans.read(path)


PLAN = """
[defaults]
env = "CartPole-v1"
steps = 1_000

[[runs]]
agent = ["dqn", "uadqn"]
seed = [0, 1, 2]

[[runs]]
agent = "uadqn"
exploration = [0.1, 0.5]
normalise = true
steps = 50
env_kwargs = { sutton_barto_reward = true }
"""


def test_lists_are_crossed_and_defaults_apply(tmp_path):
    runs = read(tmp_path, PLAN)
    assert [run.name for run in runs] == [
        *(f"CartPole-v1-{agent}-seed{seed}" for agent in ("dqn", "uadqn") for seed in range(3)),
        "CartPole-v1-uadqn-exploration=0.1-seed0",
        "CartPole-v1-uadqn-exploration=0.5-seed0",
    ]
    assert [run.steps for run in runs] == [1_000] * 6 + [50] * 2
    assert runs[1].arguments() == ["--env", "CartPole-v1", "--agent", "dqn", "--seed", "1"]
    assert runs[-1].arguments() == [
        *("--env", "CartPole-v1", "--agent", "uadqn", "--exploration", "0.5", "--normalise"),
        *("--env-kwargs", '{"sutton_barto_reward": true}'),
    ]


def test_names_can_be_given(tmp_path):
    text = 'runs = [{name = "{agent}_{seed}", env = "X-v0", agent = "dqn", seed = [3, 4], steps = 1}]'
    assert [run.name for run in read(tmp_path, text)] == ["dqn_3", "dqn_4"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[runs]", "accepted: a plan in TOML"),
        ("[defaults]\nsteps = 1", "no runs"),
        ("runs = []", "no runs"),
        ("runs = 3", "no runs"),
        ("runs = [3, {env = 'X-v0', steps = 1}]", "no runs"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = true", "steps: got True"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nhelp = true", "help is the sweep's"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nbatch-size = 4\nbatch_size = 5", "given twice"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nnetwork = [['mlp:8']]", "network: got "),
        (f"[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '{201 * 'x'}'", "200 at most"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '{seed:>9999999999}'", "accepted: text with settings"),
        ("extra = 1\n[[runs]]\nenv = 'X-v0'\nsteps = 1", "got extra"),
        ("[[runs]]\nsteps = 1", "env is missing"),
        ("[[runs]]\nenv = 'X-v0'", "steps is missing"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 0", "steps: got 0"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nout = 'here'", "out is the sweep's"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '../up'", "name: got ../up"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '{nothing}'", "accepted: text with settings"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = 'same'\nseed = [0, 1]", "2 runs are called same"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nseed = []", "no runs"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '{seed.x}'\nseed = 1", "accepted: text with settings"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nseed = 2020-01-01", "accepted: text, finite numbers"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\ndiscount = nan", "accepted: text, finite numbers"),
    ],
)
def test_what_is_no_plan_is_refused_in_one_line(tmp_path, text, words):
    with pytest.raises(UserError, match=words) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_missing_plan_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.toml"):
        plans.read(tmp_path / "nowhere.toml")


def test_a_name_is_a_directory_of_the_sweep_and_nothing_else():
    for name in ("", ".", "..", "a/b", "-x", ".hidden"):
        with pytest.raises(UserError, match="name"):
            PlannedRun(name=name, steps=1, settings={})
