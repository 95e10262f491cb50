"""What the README says is true."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from surefoot.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def examples(document):
    return re.findall(r"```python\n(.*?)```", document, re.DOTALL)


def test_the_example_of_estimators_gives_what_its_comments_say():
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
    for values, said in found.values():
        assert values.shape == (6,)
        assert np.mean(values) == np.clip(np.mean(values), said * 0.9, said * 1.1)


def as_a_user(place, code, then):
    """Run examples in a process with nothing of the tests' about it; what `then` says there afterwards."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport json\nprint(json.dumps({then}))"],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_example_of_an_agent_runs_as_it_stands(tmp_path):
    (example,) = (each for each in examples(README) if "UADQN" in each)
    beliefs = "[part.tolist() for part in (beliefs.mean, beliefs.epistemic, beliefs.aleatoric)]"
    then = f"[{beliefs}, int(action), model.num_timesteps, model.evaluate(5).mean]"
    beliefs, action, steps, score = as_a_user(tmp_path, example, then)
    assert np.shape(beliefs) == (3, 2)
    assert np.all(np.isfinite(beliefs))
    assert min(beliefs[0]) > 10
    assert action in {0, 1}
    assert steps == 21_000
    assert score > 60


def test_the_examples_of_the_page_on_environments_do_what_their_comments_say(tmp_path):
    code = "\n".join(examples((ROOT / "docs" / "your_environment.md").read_text()))
    choices = "[int(model.predict(weather, risk_aversion=much)[0]) for much in (None, 1.0)]"
    then = f"[model.beliefs(weather).aleatoric.tolist(), {choices}, bool(sent)]"
    (wait, cross), choices, sent = as_a_user(tmp_path, code, then)
    assert wait < 0.6
    assert 2.9 < cross < 4.3
    assert choices == [1, 0]
    assert sent


def test_the_examples_of_the_page_on_networks_run(tmp_path):
    code = "\n".join(examples((ROOT / "docs" / "your_network.md").read_text()))
    then = "model.beliefs(__import__('numpy').zeros(4, 'float32')).quantiles.shape"
    assert as_a_user(tmp_path, code, then) == [2, 50]


def test_every_experiment_is_mentioned():
    for name in EXPERIMENTS:
        assert f"surefoot reproduce {name}" in README


def test_every_file_that_the_documents_link_to_exists():
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", document.read_text()):
            assert (document.parent / target).exists(), target
