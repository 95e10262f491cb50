"""The ledger: on disk before it counts, whole after any crash."""

import json

import pytest

from surefoot.sweeps.ledger import LEDGER, Ledger
from surefoot.sweeps.plan import PlannedRun
from surefoot.errors import UserError


def a_run(name="one", steps=10, **settings):
    return PlannedRun(name=name, steps=steps, settings={"env": "X-v0", **settings})


def begun(_):
    return {}


def test_a_run_that_never_began_may_be_planned_anew(tmp_path):
    Ledger(tmp_path).plan([a_run(learning_rat=1)], lambda _: None)
    Ledger(tmp_path).plan([a_run(learning_rate=1)], lambda _: None)
    Ledger(tmp_path).plan([a_run(learning_rate=1)], begun)


def test_what_is_done_is_still_done_for_the_next_one(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.plan([a_run(), a_run("two")], begun)
    ledger.done(a_run())
    ledger.failed(a_run("two"), "why not")
    again = Ledger(tmp_path)
    assert (again.steps_done("one"), again.steps_done("two")) == (10, 0)


def test_a_plan_can_grow_but_a_run_stays_what_it_is(tmp_path):
    Ledger(tmp_path).plan([a_run(seed=1)], begun)
    ledger = Ledger(tmp_path)
    ledger.plan([a_run(steps=99, seed=1), a_run("two")], begun)
    with pytest.raises(UserError, match="one: discount, seed is not what this sweep began with"):
        ledger.plan([a_run(seed=2, discount=0.9)], begun)
    assert len((tmp_path / LEDGER).read_text().splitlines()) == 2


def test_a_run_that_begins_again_is_no_longer_done(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.done(a_run())
    ledger.begun(a_run())
    assert Ledger(tmp_path).steps_done("one") == 0
    ledger.done(a_run())
    assert Ledger(tmp_path).steps_done("one") == 10


def test_a_ledger_that_is_lost_makes_no_other_run_of_one_that_is_there(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.plan([a_run(seed=1, log_every=5)], lambda _: {"env": "X-v0", "seed": 1, "discount": 0.9})
    with pytest.raises(UserError, match="two: seed is not what this sweep began with"):
        ledger.plan([a_run("two", seed=7)], lambda _: {"env": "X-v0", "seed": 0})


def test_a_torn_last_line_is_cut_off_wherever_it_tore(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.plan([a_run()], begun)
    whole = (tmp_path / LEDGER).read_bytes()
    ledger.done(a_run())
    longer = (tmp_path / LEDGER).read_bytes()
    for length in range(len(whole), len(longer)):
        (tmp_path / LEDGER).write_bytes(longer[:length])
        torn = Ledger(tmp_path)
        assert torn.steps_done("one") == 0
        torn.done(a_run())
        assert [json.loads(line)["event"] for line in (tmp_path / LEDGER).read_text().splitlines()] == [
            "planned",
            "done",
        ]


def test_damage_is_named_by_its_line(tmp_path):
    (tmp_path / LEDGER).write_text('{"event": "planned", "run": "one", "settings": {}}\nnonsense\n')
    with pytest.raises(UserError, match="line 2"):
        Ledger(tmp_path)
