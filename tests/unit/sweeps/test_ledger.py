"""The ledger: every change is on disk before it takes effect, and no crash damages it."""

import json

import pytest

from surefoot.errors import UserError
from surefoot.sweeps.ledger import LEDGER, Ledger
from surefoot.sweeps.plan import PlannedRun


def planned_run(name="one", steps=10, **settings):
    return PlannedRun(name=name, steps=steps, settings={"env": "X-v0", **settings})


def has_begun(_):
    """The configuration of a run that has begun; it contains no settings."""
    return {}


def has_not_begun(_):
    return None


def test_settings_of_a_run_that_has_not_begun_can_change(tmp_path):
    Ledger(tmp_path).record_plan([planned_run(learning_rat=1)], has_not_begun)
    Ledger(tmp_path).record_plan([planned_run(learning_rate=1)], has_not_begun)
    Ledger(tmp_path).record_plan([planned_run(learning_rate=1)], has_begun)


def test_a_run_that_is_done_is_done_for_the_next_process(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.record_plan([planned_run(), planned_run("two")], has_begun)
    ledger.record_done(planned_run())
    ledger.record_failed(planned_run("two"), "the reason")
    again = Ledger(tmp_path)
    assert (again.steps_done("one"), again.steps_done("two")) == (10, 0)


def test_a_plan_can_grow_but_a_run_keeps_its_settings(tmp_path):
    Ledger(tmp_path).record_plan([planned_run(seed=1)], has_begun)
    ledger = Ledger(tmp_path)
    ledger.record_plan([planned_run(steps=99, seed=1), planned_run("two")], has_begun)
    with pytest.raises(UserError, match="one: discount, seed is not what this sweep began with"):
        ledger.record_plan([planned_run(seed=2, discount=0.9)], has_begun)
    assert len((tmp_path / LEDGER).read_text().splitlines()) == 2


def test_a_sweep_of_version_0_1_continues_with_the_new_names_of_its_settings(tmp_path):
    old = {"env": "X-v0", "agent": "uadqn", "risk_aversion": 0.5, "thompson": "step", "exploration": 0.1}
    line = {"event": "planned", "run": "one", "settings": old}
    (tmp_path / LEDGER).write_text(json.dumps(line) + "\n")
    new = {"agent": "uadqn", "risk": "mean-sd:0.5", "explorer": "thompson", "posterior": "anchored"}
    Ledger(tmp_path).record_plan([planned_run(**new, exploration=0.1)], has_begun)
    with pytest.raises(UserError, match="one: exploration is not what this sweep began with"):
        Ledger(tmp_path).record_plan([planned_run(**new, exploration=0.2)], has_begun)
    with pytest.raises(UserError, match="one: risk is not what this sweep began with"):
        Ledger(tmp_path).record_plan([planned_run(**{**new, "risk": "mean"}, exploration=0.1)], has_begun)


def test_a_run_that_begins_again_is_no_longer_done(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.record_done(planned_run())
    ledger.record_begun(planned_run())
    assert Ledger(tmp_path).steps_done("one") == 0
    ledger.record_done(planned_run())
    assert Ledger(tmp_path).steps_done("one") == 10


def test_without_a_ledger_the_configuration_of_a_run_counts(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.record_plan(
        [planned_run(seed=1, log_every=5)], lambda _: {"env": "X-v0", "seed": 1, "discount": 0.9}
    )
    with pytest.raises(UserError, match="two: seed is not what this sweep began with"):
        ledger.record_plan([planned_run("two", seed=7)], lambda _: {"env": "X-v0", "seed": 0})


def test_without_a_ledger_the_configuration_of_version_0_1_counts(tmp_path):
    ledger, config = Ledger(tmp_path), {"agent": "uadqn", "risk_aversion": 0.5, "thompson": "episode"}
    for name, value in (("risk", "mean-sd:0.5"), ("risk_aversion", 0.5), ("explorer", "thompson-episode")):
        ledger.record_plan([planned_run(name, **{name: value})], lambda _: config)
    for name, value in (("risk", "mean"), ("risk", "mean-sd:0.6"), ("explorer", "thompson")):
        with pytest.raises(UserError, match=f"other: {name} is not what this sweep began with"):
            ledger.record_plan([planned_run("other", **{name: value})], lambda _: config)


def test_an_incomplete_last_line_is_cut_off(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.record_plan([planned_run()], has_begun)
    complete = (tmp_path / LEDGER).read_bytes()
    ledger.record_done(planned_run())
    longer = (tmp_path / LEDGER).read_bytes()
    for length in range(len(complete), len(longer)):
        (tmp_path / LEDGER).write_bytes(longer[:length])
        repaired = Ledger(tmp_path)
        assert repaired.steps_done("one") == 0
        repaired.record_done(planned_run())
        assert [json.loads(line)["event"] for line in (tmp_path / LEDGER).read_text().splitlines()] == [
            "planned",
            "done",
        ]


def test_an_error_names_the_damaged_line(tmp_path):
    (tmp_path / LEDGER).write_text('{"event": "planned", "run": "one", "settings": {}}\nnonsense\n')
    with pytest.raises(UserError, match="line 2"):
        Ledger(tmp_path)
