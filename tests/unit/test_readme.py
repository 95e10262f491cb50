"""What the README says is true."""

import re
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


def test_the_example_of_an_agent_runs_as_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = (each for each in examples(README) if "UADQN" in each)
    scope = {}
    exec(example, scope)
    beliefs, model = scope["beliefs"], scope["model"]
    for part in (beliefs.mean, beliefs.epistemic, beliefs.aleatoric):
        assert part.shape == (2,)
        assert np.all(np.isfinite(part))
    assert np.all(beliefs.mean > 10)
    assert scope["action"] in {0, 1}
    assert model.num_timesteps == 21_000
    assert model.evaluate(5).mean > 60


def test_the_examples_of_the_page_on_environments_do_what_their_comments_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for example in examples((ROOT / "docs" / "your_environment.md").read_text()):
        exec(example, scope)
    model, weather = scope["model"], scope["weather"]
    wait, cross = model.beliefs(weather).aleatoric
    assert wait < 0.6
    assert 2.9 < cross < 4.3
    assert model.predict(weather)[0] == 1
    assert model.predict(weather, risk_aversion=1.0)[0] == 0
    assert scope["sent"]


def test_the_examples_of_the_page_on_networks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for example in examples((ROOT / "docs" / "your_network.md").read_text()):
        exec(example, scope)
    assert scope["model"].beliefs(np.zeros(4, np.float32)).quantiles.shape == (2, 50)


def test_every_experiment_is_mentioned():
    for name in EXPERIMENTS:
        assert f"surefoot reproduce {name}" in README


def test_every_file_that_the_documents_link_to_exists():
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", document.read_text()):
            assert (document.parent / target).exists(), target
