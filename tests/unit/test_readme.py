"""The documents are true: their examples run, and what they name exists."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from surefoot.experiments import EXPERIMENTS
from tests.unit.comparison.synthetic_runs import write_sweep

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "results" / "README.md"]
BASES = [ROOT, ROOT / "src" / "surefoot", ROOT / "tests"]
"""Directories that paths in the documents start from."""


def examples(document):
    return re.findall(r"```python\n(.*?)```", document, re.DOTALL)


def with_fewer_steps(code, *steps):
    """The code with these numbers of steps, one for each call of `learn`, in place of its own."""
    assert len(re.findall(r"\.learn\(", code)) == len(steps)
    numbers = iter(steps)
    return re.sub(r"(\.learn\(\s*)[\d_]+", lambda call: f"{call[1]}{next(numbers)}", code)


FEW_NETWORKS = """
from surefoot.agents.presets import PRESETS
PRESETS["control"].by_agent["uadqn"]["auxiliary_networks"] = 2
"""
"""Run before an example: two networks instead of five compile in half the time."""


def run_as_user(directory, code, expression, *, optimised=False):
    """The value of an expression after an example has run in a process without the strictness of the tests.

    Programs are compiled quickly, as in other tests; optimised ones pay off only after many steps.
    """
    left_out = {"XLA_FLAGS"} if optimised else set()
    done = subprocess.run(
        [sys.executable, "-c", f"{FEW_NETWORKS}{code}\nimport json\nprint(json.dumps({expression}))"],
        cwd=directory,
        env={name: value for name, value in os.environ.items() if name not in left_out},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_example_of_estimators_gives_the_numbers_in_its_comments():
    (example,) = (each for each in examples(README) if "estimators" in each)
    found = {}
    lines = example.splitlines()
    scope = {}
    for line in lines:
        call = re.match(r"estimators\.(\w+)\(.*\)\s+# about ([\d.]+)", line)
        if call:
            found[call[1]] = (eval(line, scope), float(call[2]))
        else:
            exec(line, scope)
    assert set(found) == {"epistemic_variance", "aleatoric_variance", "quantile_variance"}
    for values, expected in found.values():
        assert values.shape == (6,)
        assert np.mean(values) == pytest.approx(expected, rel=0.1)


def test_the_example_of_an_agent_runs_as_it_stands_but_for_fewer_steps_and_networks(tmp_path):
    (example,) = (each for each in examples(README) if "beliefs" in each)
    beliefs = "[part.tolist() for part in (beliefs.mean, beliefs.epistemic, beliefs.aleatoric)]"
    expression = f"[{beliefs}, int(action), model.num_timesteps, model.evaluate(5).mean]"
    code = with_fewer_steps(example, 2_000, 100)
    beliefs, action, steps, score = run_as_user(tmp_path, code, expression, optimised=True)
    assert np.shape(beliefs) == (3, 2)
    assert np.all(np.isfinite(beliefs))
    assert min(beliefs[0]) > 5
    assert action in {0, 1}
    assert steps == 2_100
    assert score > 60


def test_the_parts_of_an_agent_are_arguments():
    (example,) = (each for each in examples(README) if "posterior=" in each)
    scope = {}
    exec(example, scope)
    spec = scope["model"].spec
    chosen = (spec.settings.posterior, spec.settings.explorer, spec.settings.risk, spec.optimiser)
    assert chosen == ("mc-dropout", "thompson-episode", "mean-sd:0.5", "custom")


def test_the_members_that_are_recommended_can_be_made():
    (example,) = examples((ROOT / "docs" / "choosing.md").read_text())
    scope = {}
    exec(example, scope)
    careful, curious = scope["careful"].spec, scope["curious"].spec
    assert (careful.preset, careful.settings.levels) == ("calibrated", "midpoints")
    assert (curious.settings.targets, curious.settings.explorer) == ("own-greedy", "thompson-draw")


def test_the_example_of_the_page_on_comparing_runs_runs(tmp_path, monkeypatch, capsys):
    (example,) = examples((ROOT / "docs" / "compare.md").read_text())
    (tmp_path / "sweeps").mkdir()
    monkeypatch.chdir(tmp_path)
    runs = {
        f"{agent}-{seed}": {
            "score": 0.0,
            "agent": agent,
            "seed": seed,
            "scalars": {"eval/mean_reward": score + seed},
        }
        for agent, score in (("dqn", 10.0), ("uadqn", 50.0))
        for seed in range(5)
    }
    write_sweep(tmp_path / "sweeps" / "plan", runs)
    exec(example, {})
    assert capsys.readouterr().out.splitlines()[-1] == "uadqn 1.0 (1.0, 1.0) better"
    assert (tmp_path / "comparison.png").exists()


def test_the_code_of_the_guide_to_both_uncertainties_does_what_it_says(tmp_path):
    """Falls and the recognised states need no full training: what was never seen is far from any data."""
    code = "\n".join(examples((ROOT / "docs" / "uncertainties.md").read_text()))
    code = with_fewer_steps(code, 1_500).replace("episodes=100", "episodes=8").replace("(100, ", "(8, ")
    never_seen = "bool(np.all(to_visit[:, :18].argmax(axis=1) % 9 < 4))"
    known = "[np.asarray(each.epistemic).max().item() for each in (known, unknown)]"
    falls = "together.evaluation.events['fell'].sum().item()"
    expression = (
        f"[{known}, {never_seen}, {falls}, cautious.is_handed_over, same.threshold == cautious.threshold]"
    )
    (at_start, far), all_far, fell, handed_over, same = run_as_user(tmp_path, code, expression)
    assert far > 2 * at_start
    assert (all_far, fell, handed_over, same) == (True, 0, True, True)
    assert (tmp_path / "uncertainties.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_examples_of_the_page_on_environments_do_what_their_comments_say(tmp_path):
    code = "\n".join(examples((ROOT / "docs" / "your_environment.md").read_text()))
    actions = "[int(model.predict(weather, risk_aversion=aversion)[0]) for aversion in (None, 1.0)]"
    expression = f"[model.beliefs(weather).aleatoric.tolist(), {actions}, bool(sent)]"
    code = with_fewer_steps(code, 600, 50)
    (wait, cross), actions, sent = run_as_user(tmp_path, code, expression)
    assert wait < 0.6
    assert 2.9 < cross < 4.3
    assert actions == [1, 0]
    assert sent


def test_the_counter_example_of_the_page_on_risk_is_one():
    first, _ = examples((ROOT / "docs" / "risk.md").read_text())
    scope = {}
    exec(first, scope)
    np.testing.assert_allclose(scope["later"], [1, -2])
    np.testing.assert_allclose(scope["at_first"], [0.5, -2])
    # To go on and then take what it will take is better, whatever happens.
    assert min(scope["sure"]) > 0.5 == float(scope["at_first"].max())


@pytest.mark.slow
def test_the_static_example_of_the_page_on_risk_gives_the_number_in_its_comment(tmp_path):
    _, second = examples((ROOT / "docs" / "risk.md").read_text())
    expression = (
        "[float(x) for x in (*found.risk.realised.interval, found.returns.min(), obs.shape[0], action)]"
    )
    low, high, worst, numbers, action = run_as_user(tmp_path, second, expression, optimised=True)
    assert low < 1.5 < high
    assert (worst, numbers, action) == (-1, 3, 0)


@pytest.mark.slow
def test_the_examples_of_the_page_on_networks_run(tmp_path):
    code = "\n".join(examples((ROOT / "docs" / "your_network.md").read_text()))
    expression = "model.beliefs(np.zeros(4, np.float32)).quantiles.shape"
    assert run_as_user(tmp_path, with_fewer_steps(code, 220, 220), expression) == [2, 50]


def test_every_experiment_is_mentioned():
    for name in EXPERIMENTS:
        assert f"surefoot reproduce {name}" in README


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_links_to_or_names_exists(document):
    text = document.read_text()
    for target in re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", text):
        assert (document.parent / target).exists(), target
    if document.name == "CHANGELOG.md":
        return  # It also names what there was.
    for name in re.findall(r"`((?:\w+/)+\w+\.py|(?:src|tests)/[\w/]*)`", text):
        assert "NAME" in name or any((base / name).exists() for base in BASES), name


def test_every_function_in_the_map_of_the_paper_exists():
    table = (ROOT / "docs" / "paper_map.md").read_text().partition("## Claims")[0]
    names = re.findall(r"`((?:\w+\.)+(?!py)\w+)`", table)
    assert len(names) > 20
    for name in names:
        parent, _, last = name.rpartition(".")
        module = importlib.import_module(f"surefoot.{parent}")
        assert hasattr(module, last) or importlib.import_module(f"surefoot.{name}"), name
