"""Plans: from TOML to the arguments of `surefoot train`."""

import pytest

from surefoot.errors import UserError
from surefoot.sweeps.plan import PlannedRun, read_plan


def plan_from(tmp_path, text):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return read_plan(path)


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


def test_lists_give_all_combinations_and_defaults_apply(tmp_path):
    runs = plan_from(tmp_path, PLAN)
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
    assert [run.name for run in plan_from(tmp_path, text)] == ["dqn_3", "dqn_4"]


def test_a_users_own_agent_gives_a_valid_name_and_reaches_the_command_unchanged(tmp_path):
    agents = ["my_package.my_agent:KIND", "my_package.other_agent:KIND"]
    text = f'runs = [{{env = "CartPole-v1", agent = {agents}, steps = 1}}]'
    runs = plan_from(tmp_path, text)
    assert [run.name for run in runs] == [
        "CartPole-v1-my_package.my_agent_KIND-seed0",
        "CartPole-v1-my_package.other_agent_KIND-seed0",
    ]
    assert [run.arguments() for run in runs] == [["--env", "CartPole-v1", "--agent", each] for each in agents]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[runs]", "accepted: a plan in TOML"),
        ("[defaults]\nsteps = 1", "no runs"),
        ("runs = []", "no runs"),
        ("runs = 3", "no runs"),
        ("runs = [3, {env = 'X-v0', steps = 1}]", "no runs"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = true", "steps: got True"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nhelp = true", "help is no setting of a planned run"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nbatch-size = 4\nbatch_size = 5", "given twice"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nnetwork = [['mlp:8']]", "network: got "),
        (f"[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '{201 * 'x'}'", "200 at most"),
        (
            "[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '{seed:>9999999999}'",
            "text with names of settings",
        ),
        ("extra = 1\n[[runs]]\nenv = 'X-v0'\nsteps = 1", "got extra"),
        ("[[runs]]\nsteps = 1", "run-uadqn-seed0: env is not given"),
        (
            "[[runs]]\nenv = 'X-v0'",
            "X-v0-uadqn-seed0: steps is not given, accepted: a plan",
        ),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 0", "steps: got 0"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nout = 'here'", "out is no setting of a planned run"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '../up'", "name: got ../up"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '{nothing}'", "text with names of settings"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = 'one'\nseed = [0, 1]", "2 runs are called one"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nseed = []", "no runs"),
        (
            "[[runs]]\nenv = 'X-v0'\nsteps = 1\nname = '{seed.x}'\nseed = 1",
            "text with names of settings",
        ),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\nseed = 2020-01-01", "accepted: text, finite numbers"),
        ("[[runs]]\nenv = 'X-v0'\nsteps = 1\ndiscount = nan", "accepted: text, finite numbers"),
    ],
)
def test_a_plan_with_a_mistake_is_refused_in_one_line(tmp_path, text, message):
    with pytest.raises(UserError, match=message) as caught:
        plan_from(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_an_error_names_a_plan_that_does_not_exist(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.toml"):
        read_plan(tmp_path / "nowhere.toml")


def test_a_name_that_is_no_directory_of_the_sweep_is_refused():
    for name in ("", ".", "..", "a/b", "-x", ".hidden"):
        with pytest.raises(UserError, match="name"):
            PlannedRun(name=name, steps=1, settings={})
