"""Running a plan, with an engine that starts no processes and has exit codes prepared."""

import json
import signal

import pytest

from surefoot.errors import UserError
from surefoot.runs import directory
from surefoot.sweeps import runner
from surefoot.sweeps.ledger import LEDGER
from surefoot.sweeps.plan import PlannedRun
from surefoot.sweeps.runner import MAX_RESTARTS, Phase, run_directory, run_sweep


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(runner, "POLL_SECONDS", 0)


def planned(count, steps=10):
    return [PlannedRun(name=f"run{i}", steps=steps, settings={"env": "X-v0"}) for i in range(count)]


class FakeWorker:
    def __init__(self, engine, name, code):
        self.engine, self.name, self.code, self.polls_left = engine, name, code, 2

    def exit_code(self):
        self.polls_left -= 1
        if self.polls_left > 0:
            return None
        if self.name in self.engine.active:
            self.engine.active.remove(self.name)
        return self.code

    def stop(self):
        self.polls_left, self.code = 0, 128 + signal.SIGTERM
        self.engine.stopped.append(self.name)


class FakeEngine:
    """Each run ends with the next exit code of its list, or with 0 if there is none."""

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
        log.write_text("first line\nsurefoot: the reason\n")
        run_dir = log.parent.parent / "runs" / name
        run_dir.mkdir(exist_ok=True)
        (run_dir / directory.CONFIG).write_text("{}")
        return FakeWorker(self, name, code)

    def close(self):
        pass


def phases(statuses):
    return [each.phase for each in statuses]


def done_lines(home):
    lines = map(json.loads, (home / LEDGER).read_text().splitlines())
    return sorted((line["run"], line["steps"]) for line in lines if line["event"] == "done")


def test_every_run_is_done_once_and_never_again(tmp_path):
    engine = FakeEngine()
    assert phases(run_sweep(planned(5), tmp_path, engine)) == [Phase.DONE] * 5
    assert done_lines(tmp_path) == [(f"run{i}", 10) for i in range(5)]
    again = FakeEngine()
    assert phases(run_sweep(planned(5), tmp_path, again)) == [Phase.DONE] * 5
    assert not again.started


def test_a_killed_run_is_resumed_and_a_failing_one_stops_no_other(tmp_path):
    engine = FakeEngine({"run1": [-9, -9, 143], "run2": [1]})
    found = run_sweep(planned(4), tmp_path, engine)
    assert phases(found) == [Phase.DONE, Phase.DONE, Phase.FAILED, Phase.DONE]
    assert found[2].reason == "the reason"
    starts = [args for args in engine.started if any("run1" in arg for arg in args)]
    assert ["--resume" in args for args in starts] == [False, True, True, True]
    assert done_lines(tmp_path) == [("run0", 10), ("run1", 10), ("run3", 10)]
    assert phases(run_sweep(planned(4), tmp_path, FakeEngine())) == [Phase.DONE] * 4


def test_a_run_that_is_killed_again_and_again_fails(tmp_path):
    engine = FakeEngine({"run0": [-9] * (MAX_RESTARTS + 5)})
    (found,) = run_sweep(planned(1), tmp_path, engine)
    assert found.phase == Phase.FAILED
    assert found.reason == f"killed {MAX_RESTARTS + 1} times, the last time by signal 9"
    assert len(engine.started) == MAX_RESTARTS + 1


def test_a_plan_can_get_more_runs_and_more_steps(tmp_path):
    run_sweep(planned(2), tmp_path, FakeEngine())
    engine = FakeEngine()
    run_sweep([*planned(2, steps=30), *planned(3)[2:]], tmp_path, engine)
    assert [args[-2:] for args in engine.started] == [["--steps", "30"]] * 2 + [["--steps", "10"]]
    assert ["--resume" in args for args in engine.started] == [True, True, False]
    assert ("run0", 30) in done_lines(tmp_path)


def test_a_run_whose_directory_is_lost_is_run_again(tmp_path):
    (run,) = planned(1)
    run_sweep([run], tmp_path, FakeEngine())
    (run_directory(tmp_path, run) / directory.CONFIG).unlink()
    engine = FakeEngine()
    run_sweep([run], tmp_path, engine)
    assert len(engine.started) == 1


def test_a_run_that_is_killed_after_its_directory_was_lost_is_not_done(tmp_path):
    (run,) = planned(1)
    run_sweep([run], tmp_path, FakeEngine())
    (run_directory(tmp_path, run) / directory.CONFIG).unlink()
    answers = iter([False, True])
    killed = FakeEngine({"run0": [-9] * 2})
    run_sweep([run], tmp_path, killed, stop=lambda: next(answers, True))
    assert (run_directory(tmp_path, run) / directory.CONFIG).exists()
    engine = FakeEngine()
    assert phases(run_sweep([run], tmp_path, engine)) == [Phase.DONE]
    assert ["--resume" in args for args in engine.started] == [True]


def test_a_run_that_exits_with_0_but_wrote_nothing_has_failed(tmp_path):
    class IdleEngine(FakeEngine):
        def start(self, arguments, log):
            worker = super().start(arguments, log)
            (log.parent.parent / "runs" / worker.name / directory.CONFIG).unlink()
            return worker

    assert phases(run_sweep(planned(1), tmp_path, IdleEngine())) == [Phase.FAILED]
    assert done_lines(tmp_path) == []


def test_a_run_that_cannot_be_started_stops_no_other(tmp_path):
    class RefusingEngine(FakeEngine):
        def start(self, arguments, log):
            if log.stem == "run1":
                raise OSError(24, "Too many open files")
            return super().start(arguments, log)

    found = run_sweep(planned(3), tmp_path, RefusingEngine())
    assert phases(found) == [Phase.DONE, Phase.FAILED, Phase.DONE]
    assert "Too many open files" in found[1].reason


def test_a_stop_lets_runs_save_and_starts_no_others(tmp_path):
    engine = FakeEngine()
    answers = iter([False, False, True])
    found = run_sweep(planned(6), tmp_path, engine, stop=lambda: next(answers, True))
    assert len(engine.stopped) == 2
    assert Phase.RUNNING not in phases(found)
    assert phases(run_sweep(planned(6), tmp_path, FakeEngine())) == [Phase.DONE] * 6


def test_a_run_whose_directory_is_in_use_is_waited_for(tmp_path):
    run = planned(1)[0]
    path = run_directory(tmp_path, run)
    path.mkdir(parents=True)
    lock, shown = directory.lock(path), []

    def show(statuses):
        shown.append(phases(statuses))
        if len(shown) == 5:
            lock.release()

    assert phases(run_sweep([run], tmp_path, FakeEngine(), show=show)) == [Phase.DONE]
    assert shown[:5] == [[Phase.WAITING]] * 5


def test_two_sweeps_cannot_run_in_one_directory(tmp_path):
    def nested(_):
        with pytest.raises(UserError, match="another sweep is running here"):
            run_sweep(planned(1), tmp_path, FakeEngine())

    run_sweep(planned(1), tmp_path, FakeEngine(), show=nested)


CHANGES = [{"network": "mlp:8"}, {"normalise": True}, {"preset": "minatar"}, {"optimiser": "my_package:sgd"}]


@pytest.mark.parametrize("changed", CHANGES)
def test_without_a_ledger_a_run_with_another_configuration_is_refused(tmp_path, changed):
    config = {
        "env": "X-v0",
        "network": "mlp:128",
        "normalise": False,
        "preset": "control",
        "optimiser": "adam",
    }
    run = PlannedRun(name="run", steps=1, settings={**config, **changed})
    path = run_directory(tmp_path, run)
    path.mkdir(parents=True)
    (path / directory.CONFIG).write_text(json.dumps(config))
    with pytest.raises(UserError, match=f"run: {next(iter(changed))} is not what this sweep began with"):
        run_sweep([run], tmp_path, FakeEngine())
