"""A notebook that is executed shows beliefs as strips and a model as a table."""

import nbformat
from nbclient import NotebookClient

CELLS = [
    "import surefoot, gymnasium",
    "model = surefoot.UADQN('surefoot/WindyCliff-v0', network='mlp:8', auxiliary_networks=2)\nmodel",
    "model.beliefs(gymnasium.make('surefoot/WindyCliff-v0').reset(seed=0)[0])",
]


def test_a_notebook_shows_beliefs_and_models():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    _, of_model, of_beliefs = (cell["outputs"] for cell in notebook["cells"])
    assert "surefoot/WindyCliff-v0" in of_model[0]["data"]["text/html"]
    picture = of_beliefs[0]["data"]["text/html"]
    assert picture.startswith("<svg")
    assert all(f"action {action}: mean" in picture for action in range(4))
    assert "epistemic" in picture
