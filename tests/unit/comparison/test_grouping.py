"""Which runs are a group, and what the group is called."""

import pytest

from surefoot import UserError
from surefoot.comparison.grouping import places
from surefoot.comparison.selection import LeftOut, select_runs
from tests.unit.comparison.synthetic_runs import GRID, write_run


@pytest.fixture
def groups_of(tmp_path):
    """The tasks and groups of runs that are written with these arguments."""

    def of(*runs, by=()):
        paths = [write_run(tmp_path / f"run{i}", 1.0, **each) for i, each in enumerate(runs)]
        found = places(select_runs(paths, LeftOut()), by)
        return [(place.task, place.group) for place in found]

    return of


CART, BREAKOUT = "CartPole-v1", {"env": "surefoot/MinAtar-Breakout-v0", "space": GRID, "driver": "compiled"}


def test_agents_are_called_by_their_names_though_their_settings_differ(groups_of):
    found = groups_of({"agent": "dqn"}, {"agent": "uadqn"}, {"agent": "uadqn", "seed": 1})
    assert found == [(CART, "dqn"), (CART, "uadqn"), (CART, "uadqn")]


def test_a_setting_is_named_where_it_is_not_what_the_agent_has_anyway(groups_of):
    risky = {"agent": "uadqn", "given": {"risk": "mean-sd:0.5"}}
    found = groups_of({"agent": "uadqn"}, risky, {"agent": "uadqn", "given": {"risk": "mean"}})
    assert [group for _, group in found] == ["uadqn", "uadqn risk=mean-sd:0.5", "uadqn"]


def test_a_setting_that_all_runs_have_is_not_named(groups_of):
    given = {"learning_rate": 2.5e-4}
    found = groups_of(
        {"given": given}, {"given": given | {"batch_size": 16}}, {"agent": "qrdqn", "given": {"kappa": 0.5}}
    )
    assert [group for _, group in found] == ["dqn", "dqn batch_size=16", "qrdqn"]


def test_a_preset_is_named_instead_of_what_it_sets(groups_of):
    found = groups_of(
        BREAKOUT, {**BREAKOUT, "preset": "fast"}, {**BREAKOUT, "preset": "fast", "given": {"envs": 4}}
    )
    assert [group for _, group in found] == ["dqn", "dqn preset=fast", "dqn preset=fast envs=4"]


def test_parts_are_named_instead_of_their_settings(groups_of):
    found = groups_of(
        {"agent": "uadqn"},
        {"agent": "uadqn", "given": {"posterior": "epinet"}},
        {"agent": "uadqn", "given": {"posterior": "epinet", "epinet_prior_scale": 2.0}},
    )
    assert [group for _, group in found] == [
        "uadqn",
        "uadqn posterior=epinet",
        "uadqn posterior=epinet epinet_prior_scale=2",
    ]


def test_what_the_observations_choose_does_not_divide_an_agent_into_groups(groups_of):
    assert groups_of({}, BREAKOUT) == [(CART, "dqn"), ("MinAtar-Breakout-v0", "dqn")]


def test_networks_and_normalisation_divide_an_agent_into_groups(groups_of):
    found = groups_of({}, {"network": "mlp:8"}, {"normalise": True})
    assert [group for _, group in found] == ["dqn", "dqn network=mlp:8", "dqn normalise=True"]


def test_arguments_of_an_environment_make_tasks_where_they_differ(groups_of):
    sizes = [
        {"env": "surefoot/DeepSea-v0", "env_kwargs": {"size": size, "mapping_seed": 1}} for size in (5, 10)
    ]
    assert groups_of(*sizes) == [("DeepSea-v0 size=5", "dqn"), ("DeepSea-v0 size=10", "dqn")]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (["agent"], ["dqn", "dqn", "qrdqn"]),
        (["batch_size"], ["batch_size=8", "batch_size=16", "batch_size=8"]),
        (["agent", "batch_size"], ["dqn batch_size=8", "dqn batch_size=16", "qrdqn batch_size=8"]),
        (["quantiles"], ["quantiles=none", "quantiles=none", "quantiles=50"]),
        (["revision"], ["revision=a", "revision=b", "revision=a"]),
    ],
)
def test_what_is_named_makes_the_groups_instead(groups_of, by, expected):
    runs = (
        {"given": {"batch_size": 8}},
        {"given": {"batch_size": 16}, "revision": "b"},
        {"agent": "qrdqn", "given": {"batch_size": 8}},
    )
    assert [group for _, group in groups_of(*runs, by=by)] == expected


def test_an_argument_of_an_environment_that_is_named_makes_no_tasks(groups_of):
    runs = [{"env_kwargs": {"size": size}} for size in (5, 10)]
    assert groups_of(*runs, by=["size"]) == [(CART, "size=5"), (CART, "size=10")]


def test_environments_that_are_named_are_groups_of_one_task(groups_of):
    assert groups_of({}, BREAKOUT, by=["env"]) == [("all", CART), ("all", "surefoot/MinAtar-Breakout-v0")]


def test_a_misspelt_name_lists_the_known_ones(groups_of):
    with pytest.raises(UserError, match=r"^by: got bach_size, accepted: .*learning_rate.*mean batch_size\?$"):
        groups_of({}, by=["bach_size"])


def test_names_without_their_packages_stay_different(groups_of):
    found = groups_of({"env": "one/Maze-v0"}, {"env": "two/Maze-v0"}, {"env": "three/Lake-v0"})
    assert [task for task, _ in found] == ["one/Maze-v0", "two/Maze-v0", "Lake-v0"]


def test_settings_of_an_agent_that_cannot_be_imported_are_compared_as_they_are(groups_of):
    mine = {"agent": "nowhere.to_be_found:KIND", "preset": "control"}
    settings = [{"a": 1, "b": 2.0}, {"a": 1.0, "b": 3.5}]
    found = groups_of(*({**mine, "settings": each} for each in settings))
    assert [group for _, group in found] == ["KIND b=2", "KIND b=3.5"]


def test_labels_of_numbers_are_short_but_exact(groups_of):
    found = groups_of(*({"given": {"learning_rate": rate}} for rate in (1e-4, 2.5e-4, 1 / 3)))
    assert [group for _, group in found] == [
        "dqn learning_rate=0.0001",
        "dqn learning_rate=0.00025",
        "dqn learning_rate=0.3333333333333333",
    ]
