"""`surefoot watch`: what it refuses, and where it listens."""

import socket

import pytest

from surefoot.cli import watch
from surefoot.errors import UserError
from tests.unit.web.conftest import make_run


def test_a_place_without_runs_is_refused_in_one_line(run, tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        code, out, err = run("watch", str(place), "--no-browser")
        assert (code, out) == (2, "")
        assert err.startswith("surefoot: RUN:")
        assert err.count("\n") == 1


def test_a_run_is_shown_among_its_neighbours_and_of_a_directory_the_newest(tmp_path):
    make_run(tmp_path / "runs" / "a")
    assert watch.find_run(tmp_path / "runs" / "a") == (tmp_path / "runs", "a")
    assert watch.find_run(tmp_path) == (tmp_path, "runs/a")


def test_a_port_that_is_taken_is_refused_if_it_was_asked_for_and_left_if_not(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port}"):
            watch.listen_at("127.0.0.1", port)
        monkeypatch.setattr(watch, "PORT", port)
        with watch.listen_at("127.0.0.1", None) as other:
            assert other.getsockname()[1] != port


def test_two_attitudes_to_risk_at_once_are_refused(run, tmp_path):
    make_run(tmp_path / "a")
    code, _, err = run("watch", str(tmp_path / "a"), "--html", "x", "--risk", "mean", "--risk-aversion", "1")
    assert code == 2
    assert "one of the two" in err
