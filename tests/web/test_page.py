"""The page of a trained windy-cliff run, in a real browser."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.small_models import CLIFF, FLAGS
from tests.web.conftest import until, wait_for, watching
from tests.web.trained_cliff import train

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
WATCH_SHIFTS = """() => {
    window.shifts = 0;
    const add = (list) => { for (const each of list.getEntries()) window.shifts += each.value; };
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: false });
}"""
SIZES = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


def chosen(page):
    """The name of the action that is taken at the step shown."""
    return page.inner_text(".actions li.taken button").split()[-1]


def step(page):
    return int(page.input_value("#timeline"))


def at_end_of_slider(page, name):
    page.focus(name)
    page.keyboard.press("End")


def branched(page):
    until(page, "location.hash.includes('actions=')")


def test_it_loads_without_errors_and_asks_nothing_of_other_servers(open_page, address):
    asked = []
    page = open_page(address)
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    page.wait_for_selector(".actions li.taken")
    assert page.said == []
    assert {urlsplit(url).netloc for url in asked} - {""} == {urlsplit(address).netloc}


def test_the_token_leaves_the_address_once_the_page_is_open(open_page, address):
    page = open_page(address)
    assert "token=" in address
    assert "token" not in page.url


def test_the_risk_slider_changes_the_first_action_from_right_to_up(open_page, address):
    page = open_page(address)
    assert chosen(page) == "right"
    at_end_of_slider(page, "#risk")
    page.wait_for_selector(".actions li:nth-child(1).taken")
    assert chosen(page) == "up"
    page.keyboard.press("Home")
    page.wait_for_selector(".actions li:nth-child(2).taken")


def test_play_advances_the_episode_to_its_end(open_page, address):
    page = open_page(address)
    page.select_option("#speed", "15")
    page.click("#play")
    until(page, "document.getElementById('play').textContent === 'Play' && timeline.value === timeline.max")
    assert step(page) > 2
    assert "ended" in page.inner_text("#status")


def test_another_action_branches_the_episode_and_can_be_undone(open_page, address):
    page = open_page(address)
    page.click(".actions li:nth-child(3)")
    branched(page)
    assert chosen(page) == "down"
    assert "what if: down" in page.inner_text("#status")
    page.keyboard.press("ArrowRight")
    assert step(page) == 1
    page.click("#own")
    page.wait_for_selector(".actions li:nth-child(2).taken")
    until(page, "!location.hash.includes('actions=')")


def test_a_link_shows_the_same_step_of_the_same_branch(open_page, address):
    page = open_page(address)
    page.keyboard.press("1")
    branched(page)
    at_end_of_slider(page, "#exploration")
    page.locator("#exploration").blur()
    until(page, "location.hash.includes('exploration=32') && Number(timeline.max) > 1")
    for shown in "12":
        page.keyboard.press("ArrowRight")
        until(page, f"timeline.value === '{shown}'")
    until(page, "location.hash.includes('step=2')")
    shown = [page.inner_text(name) for name in ("#status", "#beliefs", "#exploration-value")]
    other = open_page(f"{address.split('#')[0]}#{page.url.split('#')[1]}")
    until(other, "timeline.value === '2'")
    assert [other.inner_text(name) for name in ("#status", "#beliefs", "#exploration-value")] == shown


def test_the_estimator_and_the_risk_measure_can_be_chosen(open_page, address):
    page = open_page(address)

    def aleatoric():
        label = page.get_attribute(".actions li:nth-child(1) svg", "aria-label")
        return re.search(r"aleatoric ([\d.]+)", label)[1]

    own = aleatoric()
    page.select_option("#estimator", "biased")
    until(page, "location.hash.includes('estimator=biased')")
    assert aleatoric() != own
    page.select_option("#measure", "mean")
    until(page, "location.hash.includes('risk=mean&') || location.hash.endsWith('risk=mean')")
    assert page.is_disabled("#risk")


@pytest.fixture
def growing(tmp_path):
    """A run that is being trained."""
    out = tmp_path / "growing"
    often = ["--log-every", "100", "--checkpoint-every", "1000", "--eval-every", "0"]
    command = ["train", "--env", CLIFF, "--steps", "100000000", "--out", str(out), *often, *FLAGS]
    with subprocess.Popen(
        [sys.executable, "-m", "surefoot", *command], stderr=subprocess.DEVNULL
    ) as training:
        try:
            wait_for(lambda: list(out.glob("checkpoints/step_*")))
            yield out
        finally:
            training.terminate()


def test_the_learning_curve_grows_while_a_run_is_trained_and_checkpoints_are_offered(open_page, growing):
    with watching(growing) as address:
        page = open_page(address)
        text = "document.getElementById('progress').textContent.replaceAll(',', '')"
        last = f"Number(/step (\\d+)/.exec({text})[1])"
        line = "document.querySelector('#curves path[stroke-width=\"2\"]').getAttribute('d')"
        step, drawn = page.evaluate(last), page.evaluate(line)
        held = page.input_value("#checkpoint")
        until(page, f"{last} > {step} && {line} !== {json.dumps(drawn)}")
        page.wait_for_selector("#newer:not([hidden])")
        assert page.input_value("#checkpoint") == held
        page.click("#newer")
        until(page, f"document.getElementById('checkpoint').value !== {json.dumps(held)}")


def test_the_keyboard_alone_is_enough_from_the_start_to_a_branch(open_page, address):
    page = open_page(address)
    page.keyboard.press("?")
    listed = page.inner_text("#key-list")
    assert "what if" in listed
    assert "play or pause" in listed
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    assert step(page) == 1
    page.keyboard.press("ArrowLeft")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.actions li')?.matches(':first-child') ?? false"):
            break
    page.keyboard.press("Enter")
    branched(page)
    assert chosen(page) == "up"
    page.keyboard.press("+")
    until(page, "location.hash.includes('mean-sd%3A0.1')")


def test_charts_can_be_read_as_tables_and_say_in_words_what_they_show(open_page, address):
    page = open_page(address)
    for chart in ("#uncertainty", "#returns", "#curves"):
        for label in page.eval_on_selector_all(
            f"{chart} svg", "all => all.map(each => each.getAttribute('aria-label'))"
        ):
            assert len(label) > 20
    assert "peaks at step" in page.get_attribute("#uncertainty svg", "aria-label")
    page.keyboard.press("d")
    assert page.locator("table[aria-label]").count() == 4
    assert page.locator("#returns tbody tr").count() == int(page.get_attribute("#timeline", "max"))


def test_two_runs_can_be_drawn_in_the_same_curves(open_page, address, runs):
    train(runs / "other", steps=1_000, seed=1)
    page = open_page(address)
    before = page.locator("#curves path[stroke-width='2']").count()
    page.check("#overlay label:has-text('other') input")
    until(page, f"document.querySelectorAll(\"#curves path[stroke-width='2']\").length > {before}")
    until(page, "location.hash.includes('with=other')")


def test_nothing_moves_while_data_stream_in(open_page, address):
    page = open_page(address)
    page.evaluate(WATCH_SHIFTS)
    page.select_option("#speed", "30")
    page.click("#play")
    until(page, "timeline.value === timeline.max")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("n")
    until(page, "location.hash.includes('seed=1')")
    page.wait_for_timeout(1_500)
    assert page.evaluate("window.shifts") < 0.01


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_no_serious_accessibility_fault_and_nothing_wider_than_the_window(
    open_page, address, pictures, width, theme
):
    page = open_page(address, width=width, theme=theme, bypass_csp=True)
    if pictures:
        page.screenshot(path=pictures / f"cliff-{width}-{theme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(content=AXE.read_text())
    assert faults_of(page) == []
    page.keyboard.press("d")
    assert faults_of(page) == []
    page.keyboard.press("?")
    assert faults_of(page) == []


def faults_of(page):
    """Serious accessibility faults, by axe-core."""
    found = page.evaluate("axe.run(document)")["violations"]
    serious = [each for each in found if each["impact"] in {"serious", "critical"}]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious]


def test_names_that_are_markup_are_shown_as_text(open_page, runs, tmp_path):
    name = "<img src=x onerror=window.attacked=1>"
    shutil.copytree(runs / "cliff", tmp_path / "runs" / name)
    with watching(tmp_path / "runs") as address:
        page = open_page(address)
        assert page.inner_text("#run option") == name
        assert page.evaluate("window.attacked") is None
        assert page.locator("img").count() == 0
