"""What the README says is true."""

import re
from pathlib import Path

import numpy as np

from surefoot.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_example_runs_and_gives_what_its_comments_say():
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
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


def test_every_experiment_is_mentioned():
    for name in EXPERIMENTS:
        assert f"surefoot reproduce {name}" in README


def test_every_file_that_the_documents_link_to_exists():
    for document in (ROOT / "README.md", ROOT / "docs" / "paper_map.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", document.read_text()):
            assert (document.parent / target).exists(), target
