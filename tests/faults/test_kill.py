"""kill -9 at any moment, also in the middle of a save: resumed, the run ends the same bit for bit."""

import random
import shutil
import signal
import time

import pytest

from surefoot.runs import directory
from surefoot.runs.log_files import read_metrics
from tests.faults.helpers import FLAGS, assert_same_run, command, finished
from tests.small_models import CLIFF

STEPS, INTERVAL = 600, 25
KINDS = [
    ("uadqn", CLIFF),
    ("dqn", "CartPole-v1"),
    ("bootstrapped", CLIFF),
    ("qrdqn", "CartPole-v1"),
    ("qrdqn", CLIFF),
]


@pytest.fixture(scope="module")
def never_killed(tmp_path_factory):
    """Runs that were never killed, to compare with, each made once."""
    made = {}

    def run(agent, env):
        if (agent, env) not in made:
            out = tmp_path_factory.mktemp("whole") / "run"
            assert finished(start(agent, env, out))[0] == 0
            made[agent, env] = out
        return made[agent, env]

    return run


def start(agent, env, out, **environment):
    return command(
        "train", "--env", env, "--agent", agent, "--steps", STEPS, "--out", out, *FLAGS, **environment
    )


def last_step(out):
    found = directory.last_checkpoint(out) if out.exists() else None
    return 0 if found is None else int(found.name.removeprefix("step_"))


def logged_step(out):
    return max((line["step"] for line in read_metrics(out)), default=0)


def kill(process, out, rng):
    """Wait for some progress, then kill at a random moment."""
    target = last_step(out) + rng.choice([25, 50, 100])
    deadline = time.monotonic() + 60
    while process.poll() is None and last_step(out) < target and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("number", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, 5))])
def test_runs_that_are_killed_again_and_again_end_the_same(tmp_path, never_killed, amount, reached, number):
    kills = inside = 0
    runs = amount(1, 20)
    for repetition in range(runs):
        agent, env = KINDS[number]
        rng = random.Random(1_000 * number + repetition)
        out, attempts = tmp_path / f"run{repetition}", 0
        while attempts < amount(2, 3):
            attempts += 1
            # The first two waits belong to the configuration; a save has one for each file and directory.
            in_a_save = (attempts + number + repetition) % 2 == 0
            fault = {"FAULT": f"kill-at-fsync:{rng.randint(12, 40)}"} if in_a_save else {}
            begun = (out / "config.json").exists()
            process = command("train", "--resume", out, **fault) if begun else start(agent, env, out, **fault)
            before = last_step(out)
            if in_a_save:
                code, _, err = finished(process)
                assert code == -signal.SIGKILL, err
            else:
                kill(process, out, rng)
                if process.returncode == 0:
                    break
                assert process.returncode == -signal.SIGKILL
            kills, inside = kills + 1, inside + in_a_save
            assert last_step(out) >= before
            assert logged_step(out) - last_step(out) <= INTERVAL
            if not begun and not (out / "config.json").exists():
                shutil.rmtree(out, ignore_errors=True)
        code, _, err = finished(command("train", "--resume", out))
        assert code == 0, err
        assert_same_run(never_killed(agent, env), out)
        assert not list((out / "checkpoints").glob(".*"))
    assert kills >= amount(2, 3) * runs
    assert inside >= kills // 3  # Over all runs half of them.
    agent, env = KINDS[number]
    injected = f"{kills} kills in {runs} runs of {agent} on {env}, {inside} inside a save"
    reached("kill -9", injected, "all ended bit-identical, at most one interval lost")
