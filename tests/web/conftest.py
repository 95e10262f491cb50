"""A trained run, the page of it, and a browser to look with."""

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def until(page, expression, seconds=30):
    """Waits until an expression is true; the page's own policy forbids what Playwright would do."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(50)


def wait_for(condition, seconds=120):
    """Waits until a function gives something true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "never true"
        time.sleep(0.1)


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A directory with one trained run."""
    home = tmp_path_factory.mktemp("runs")
    # In a process that compiles fast programs, unlike the tests', since it trains for long.
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    subprocess.run([sys.executable, "-m", "tests.web.trained_cliff", home / "cliff"], env=env, check=True)
    return home


@contextmanager
def watching(*args):
    """The address that `surefoot watch` prints, which runs in a process of its own meanwhile."""
    command = [sys.executable, "-m", "surefoot", "watch", *map(str, args), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def address(runs):
    """The address of the page of the trained run."""
    with watching(runs / "cliff") as printed:
        yield printed


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium without a screen."""
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        launched = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser):
    """Opens an address and waits until an episode is shown; what the console says is in `page.said`."""
    opened = []

    def at(address, width=1280, height=900, theme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, **options
        )
        page = context.new_page()
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        opened.append(context)
        page.goto(address)
        page.wait_for_selector(".actions li.taken", timeout=60_000)
        until(page, "document.getElementById('message').hidden")
        return page

    yield at
    for context in opened:
        context.close()


@pytest.fixture(scope="session")
def pictures():
    """Where photographs of the page go: a directory named by WEB_PICTURES, or none that stays."""
    given = os.environ.get("WEB_PICTURES")
    return None if given is None else Path(given)
