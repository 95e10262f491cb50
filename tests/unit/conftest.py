"""The command, run in this process."""

import pytest

from surefoot import cli


@pytest.fixture
def run(capsys):
    """Runs the command: its exit code, standard output and standard error."""

    def of(*args):
        try:
            code = cli.run(list(args))
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, err

    return of
