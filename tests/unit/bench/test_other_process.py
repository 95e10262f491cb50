"""Contenders in processes of their own."""

import io
import sys

import pytest

from surefoot.bench import jax_peers, other_process, worker
from surefoot.errors import UserError


def test_a_worker_makes_the_steps_it_is_asked_for_and_answers_when_they_are_made(monkeypatch):
    events = []
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\n20\n"))
    worker.serve(events.append, lambda: events.append("answer"))
    assert events == ["answer", 3, "answer", 20, "answer"]


@pytest.fixture
def checkout(tmp_path):
    """An earlier revision whose agent prints, and fails when it is asked for many steps."""
    bench = tmp_path / "src" / "surefoot" / "bench"
    bench.mkdir(parents=True)
    for package in (bench.parent, bench):
        (package / "__init__.py").touch()
    (bench / "surefoot_agents.py").write_text(
        "from types import SimpleNamespace\n"
        "def make_steps(count):\n"
        "    print('noise')\n"
        "    assert count < 100, 'too many steps'\n"
        "def compiled_contender(agent):\n"
        "    print(agent)\n"
        "    return SimpleNamespace(make_steps=make_steps)\n"
    )
    return tmp_path


def test_an_earlier_revision_is_measured_in_its_own_process_whatever_it_prints(checkout):
    contender = other_process.compiled_agent("dqn", checkout)
    assert contender.name == "dqn, before"
    contender.make_steps(5)
    contender.make_steps(7)
    with pytest.raises(UserError, match=r"^bench: dqn, before failed \(AssertionError: too many steps\)$"):
        contender.make_steps(100)


def test_a_process_that_cannot_start_says_why_in_one_line():
    with pytest.raises(UserError, match=r"^bench: a peer failed \(KeyError: 'nonsense'\)$"):
        other_process.contender("a peer", "nonsense", {})


def test_what_is_no_checkout_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^before: got .*, accepted: a checkout of Surefoot$"):
        other_process.sources_of(tmp_path)


def test_libraries_are_looked_for_in_environments_of_their_own(tmp_path):
    assert jax_peers.missing(tmp_path, "rejax")
    python = jax_peers.python_of(tmp_path, "rejax")
    python.parent.mkdir(parents=True)
    python.touch()
    assert not jax_peers.missing(tmp_path, "rejax")
