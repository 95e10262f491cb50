"""Carrying out a plan, with workers that do as they are told."""

import json
import signal

import pytest

from surefoot.runs import directory
from surefoot.sweeps import runner
from surefoot.sweeps.ledger import LEDGER
from surefoot.sweeps.plan import PlannedRun
from surefoot.sweeps.runner import MOST_DEATHS, Phase, run_sweep, path_of
from surefoot.errors import UserError


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(runner, "PAUSE", 0)


def planned(count, steps=10):
    return [PlannedRun(name=f"run{i}", steps=steps, settings={"env": "X-v0"}) for i in range(count)]


class ToldWorker:
    def __init__(self, engine, name, code):
        self.engine, self.name, self.code, self.looks = engine, name, code, 2

    def exit_code(self):
        self.looks -= 1
        if self.looks > 0:
            return None
        if self.name in self.engine.active:
            self.engine.active.remove(self.name)
        return self.code

    def stop(self):
        self.looks, self.code = 0, 128 + signal.SIGTERM
        self.engine.stopped.append(self.name)


class ToldEngine:
    """Each run ends as its list of exit codes says, one after the other; without one, well."""

    def __init__(self, codes=None, slots=2):
        self.codes, self.slots = codes or {}, slots
        self.started, self.active, self.stopped = [], [], []

    def start(self, arguments, log):
        path = arguments[arguments.index("--out" if "--out" in arguments else "--resume") + 1]
        name = path.rsplit("/", 1)[-1]
        self.started.append(arguments)
        self.active.append(name)
        assert len(self.active) <= self.slots
        assert self.active.count(name) == 1, "the same run twice at once"
        code = self.codes.get(name, []).pop(0) if self.codes.get(name) else 0
        log.parent.mkdir(exist_ok=True)
        log.write_text("some words\nsurefoot: the reason\n")
        directory_ = log.parent.parent / "runs" / name
        directory_.mkdir(exist_ok=True)
        (directory_ / directory.CONFIG).write_text("{}")
        return ToldWorker(self, name, code)

    def close(self):
        pass


def phases(statuses):
    return [each.phase for each in statuses]


def done_lines(home):
    lines = map(json.loads, (home / LEDGER).read_text().splitlines())
    return sorted((line["run"], line["steps"]) for line in lines if line["event"] == "done")


def test_every_run_is_done_once_and_never_again(tmp_path):
    engine = ToldEngine()
    assert phases(run_sweep(planned(5), tmp_path, engine)) == [Phase.DONE] * 5
    assert done_lines(tmp_path) == [(f"run{i}", 10) for i in range(5)]
    again = ToldEngine()
    assert phases(run_sweep(planned(5), tmp_path, again)) == [Phase.DONE] * 5
    assert not again.started


def test_a_killed_run_is_gone_on_with_and_a_failing_one_stops_nobody(tmp_path):
    engine = ToldEngine({"run1": [-9, -9, 143], "run2": [1]})
    found = run_sweep(planned(4), tmp_path, engine)
    assert phases(found) == [Phase.DONE, Phase.DONE, Phase.FAILED, Phase.DONE]
    assert found[2].why == "the reason"
    begun = [words for words in engine.started if any("run1" in word for word in words)]
    assert ["--resume" in words for words in begun] == [False, True, True, True]
    assert done_lines(tmp_path) == [("run0", 10), ("run1", 10), ("run3", 10)]
    assert phases(run_sweep(planned(4), tmp_path, ToldEngine())) == [Phase.DONE] * 4


def test_a_run_that_only_dies_is_given_up(tmp_path):
    engine = ToldEngine({"run0": [-9] * (MOST_DEATHS + 5)})
    (found,) = run_sweep(planned(1), tmp_path, engine)
    assert found.phase == Phase.FAILED
    assert found.why == f"killed {MOST_DEATHS + 1} times, the last time by signal 9"
    assert len(engine.started) == MOST_DEATHS + 1


def test_a_plan_is_extended_by_runs_and_by_steps(tmp_path):
    run_sweep(planned(2), tmp_path, ToldEngine())
    engine = ToldEngine()
    run_sweep([*planned(2, steps=30), *planned(3)[2:]], tmp_path, engine)
    assert [words[-2:] for words in engine.started] == [["--steps", "30"]] * 2 + [["--steps", "10"]]
    assert ["--resume" in words for words in engine.started] == [True, True, False]
    assert ("run0", 30) in done_lines(tmp_path)


def test_a_run_whose_directory_is_gone_is_run_again(tmp_path):
    (run,) = planned(1)
    run_sweep([run], tmp_path, ToldEngine())
    (path_of(tmp_path, run) / directory.CONFIG).unlink()
    engine = ToldEngine()
    run_sweep([run], tmp_path, engine)
    assert len(engine.started) == 1


def test_a_run_that_was_lost_and_then_killed_is_not_taken_for_done(tmp_path):
    (run,) = planned(1)
    run_sweep([run], tmp_path, ToldEngine())
    (path_of(tmp_path, run) / directory.CONFIG).unlink()
    answers = iter([False, True])
    killed = ToldEngine({"run0": [-9] * 2})
    run_sweep([run], tmp_path, killed, stop=lambda: next(answers, True))
    assert (path_of(tmp_path, run) / directory.CONFIG).exists()
    engine = ToldEngine()
    assert phases(run_sweep([run], tmp_path, engine)) == [Phase.DONE]
    assert ["--resume" in words for words in engine.started] == [True]


def test_a_run_that_ends_well_without_having_begun_has_failed(tmp_path):
    class Idle(ToldEngine):
        def start(self, arguments, log):
            worker = super().start(arguments, log)
            (log.parent.parent / "runs" / worker.name / directory.CONFIG).unlink()
            return worker

    assert phases(run_sweep(planned(1), tmp_path, Idle())) == [Phase.FAILED]
    assert done_lines(tmp_path) == []


def test_a_run_that_cannot_be_started_stops_nobody(tmp_path):
    class Refusing(ToldEngine):
        def start(self, arguments, log):
            if log.stem == "run1":
                raise OSError(24, "Too many open files")
            return super().start(arguments, log)

    found = run_sweep(planned(3), tmp_path, Refusing())
    assert phases(found) == [Phase.DONE, Phase.FAILED, Phase.DONE]
    assert "Too many open files" in found[1].why


def test_a_stop_lets_runs_save_and_starts_no_more(tmp_path):
    engine = ToldEngine()
    answers = iter([False, False, True])
    found = run_sweep(planned(6), tmp_path, engine, stop=lambda: next(answers, True))
    assert len(engine.stopped) == 2
    assert Phase.RUNNING not in phases(found)
    assert phases(run_sweep(planned(6), tmp_path, ToldEngine())) == [Phase.DONE] * 6


def test_a_run_that_someone_else_holds_is_waited_for(tmp_path):
    run = planned(1)[0]
    path = path_of(tmp_path, run)
    path.mkdir(parents=True)
    lock, looks = directory.hold(path), []

    def show(statuses):
        looks.append(phases(statuses))
        if len(looks) == 5:
            lock.release()

    assert phases(run_sweep([run], tmp_path, ToldEngine(), show=show)) == [Phase.DONE]
    assert looks[:5] == [[Phase.WAITING]] * 5


def test_two_sweeps_do_not_share_a_directory(tmp_path):
    def nested(_):
        with pytest.raises(UserError, match="another sweep is under way"):
            run_sweep(planned(1), tmp_path, ToldEngine())

    run_sweep(planned(1), tmp_path, ToldEngine(), show=nested)


@pytest.mark.parametrize("changed", [{"network": "mlp:8"}, {"normalise": True}, {"preset": "minatar"}])
def test_without_its_ledger_a_run_is_told_from_another_by_its_configuration(tmp_path, changed):
    config = {"env": "X-v0", "network": "mlp:128", "normalise": False, "preset": "control"}
    run = PlannedRun(name="run", steps=1, settings={**config, **changed})
    path = path_of(tmp_path, run)
    path.mkdir(parents=True)
    (path / directory.CONFIG).write_text(json.dumps(config))
    with pytest.raises(UserError, match=f"run: {next(iter(changed))} is not what this sweep began with"):
        run_sweep([run], tmp_path, ToldEngine())
