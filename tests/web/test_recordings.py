"""Episodes as files: what `surefoot watch RUN --html` and `--record` write."""

import subprocess
import sys

import pytest
from PIL import Image

from tests.web.conftest import until


@pytest.fixture(scope="module")
def files(runs, tmp_path_factory):
    """An episode as one page and as a moving picture."""
    out = tmp_path_factory.mktemp("recorded")
    command = [
        "watch",
        runs / "cliff",
        "--html",
        out / "a.html",
        "--record",
        out / "a.gif",
        "--risk-aversion",
        "1",
    ]
    subprocess.run([sys.executable, "-m", "surefoot", *map(str, command)], check=True)
    return out


def test_the_file_plays_from_disk_with_networking_off(browser, files):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_offline(True)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((files / "a.html").as_uri())
    page.wait_for_selector(".actions li.taken")
    assert page.inner_text(".actions li.taken button").split()[-1] == "up"
    page.select_option("#speed", "15")
    page.click("#play")
    until(page, "timeline.value === timeline.max && play.textContent === 'Play'")
    assert "return so far 4.00" in page.inner_text(
        "#status"
    )  # The safe path: six steps, and ten at the goal.
    assert page.locator("#curves path").count() > 3
    assert said == []
    context.close()


def test_the_moving_picture_has_a_frame_for_each_step_and_is_small(files):
    with Image.open(files / "a.gif") as picture:
        assert picture.n_frames == 7
    assert (files / "a.gif").stat().st_size < 1_500_000
