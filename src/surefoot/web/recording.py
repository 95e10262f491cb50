"""An episode as a file: a moving picture for a paper, or the page itself with the episode in it."""

import base64
import io
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray
from PIL import Image

from surefoot.envs import minatar, windy_cliff, windy_cliff_render
from surefoot.errors import UserError, require
from surefoot.figures import episode as figure
from surefoot.web.choices import Attitude
from surefoot.web.episode import MAX_STEPS
from surefoot.web.page_files import page_files
from surefoot.web.run_reader import RunReader, entries, series
from surefoot.web.watched_model import WatchedModel

SUFFIXES = (".gif", ".mp4")
COLOURS = 48
"""Colours of a GIF: few, so that it stays small."""
LAST_FRAME_SECONDS = 2.0
MODULES = ("dom", "address", "source", "scenes", "strips", "charts", "keys", "episode", "learning", "app")
"""The page's modules, each after those that it imports."""
OFFLINE_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


class Recorded(NamedTuple):
    """An episode with all that the page shows of it."""

    summary: dict[str, Any]
    model: dict[str, Any]
    steps: list[dict[str, Any]]
    state: dict[str, Any]
    series: dict[str, Any]


def record(home: Path, name: str, seed: int, attitude: tuple[str, float], max_steps: int) -> Recorded:
    """Play an episode with a run's newest model.

    `attitude` is a risk measure, or "" for the agent's own, and the strength of exploration (beta).
    """
    require("max_steps", max_steps, 1 <= max_steps < MAX_STEPS, f"numbers from 1 to {MAX_STEPS - 1}")
    reader = RunReader(home)
    checkpoint = reader.checkpoint(name, "")
    watched = WatchedModel(checkpoint)
    risk, exploration = attitude
    wanted: Attitude = watched.attitude(risk or watched.risk, exploration, "own")
    state = {
        "run": name,
        "checkpoint": checkpoint.name,
        "seed": seed,
        "actions": [],
        "step": 0,
        "overlay": [],
    }
    state |= {"risk": str(wanted.risk), "exploration": exploration, "estimator": "own"}
    return Recorded(
        reader.summary(name),
        {**watched.describe(), "checkpoint": checkpoint.name},
        watched.episode(seed, [], wanted, 0, max_steps + 1),
        state,
        series(entries(reader.path(name)).lines),
    )


def write_html(recorded: Recorded, path: Path) -> None:
    """Write the page with the episode in it: it plays without a server and without a network."""
    pages = {name: data.decode() for name, (data, _) in page_files().items()}
    fields = {"run": recorded.summary, **recorded._asdict()}
    # `<` could end the element; JSON has another way to write it.
    data = json.dumps(fields).replace("<", "\\u003c")
    script = "\n".join(_without_modules(pages[f"{name}.js"]) for name in MODULES)
    page = pages["index.html"]
    page = page.replace(
        '<link rel="stylesheet" href="/page/style.css">', f"<style>\n{pages['style.css']}</style>"
    )
    page = page.replace('  <script type="module" src="/page/app.js"></script>\n', "")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{OFFLINE_POLICY}">'
    page = page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n  {policy}')
    embedded = f'<script type="application/json" id="recorded">{data}</script>\n'
    embedded += f'<script type="module">\n{script}</script>\n'
    _write(path, page.replace("</body>", f"{embedded}</body>").encode())


def _without_modules(source: str) -> str:
    """A module's code as part of one script, in which all names are known."""
    return re.sub(
        r"^export ", "", re.sub(r"^import .*\n", "", source, flags=re.MULTILINE), flags=re.MULTILINE
    )


def write_moving_picture(recorded: Recorded, path: Path, speed: float) -> None:
    """Write the episode as GIF, or as MP4 where ffmpeg is installed."""
    require(
        "record",
        path.name,
        path.suffix in SUFFIXES,
        ", ".join(f"a name that ends in {each}" for each in SUFFIXES),
    )
    ffmpeg = shutil.which("ffmpeg")
    if path.suffix == ".mp4" and ffmpeg is None:
        raise UserError(
            f"record: got {path.name}, but ffmpeg is not installed, accepted: a name that ends in .gif"
        )
    frames = _frames(recorded)
    if path.suffix == ".gif":
        _write(path, _gif(frames, speed))
    else:
        assert ffmpeg is not None
        _write_mp4(ffmpeg, frames, speed, path)


def _frames(recorded: Recorded) -> list[Image.Image]:
    stage, steps = recorded.model["stage"], recorded.steps
    title = f"{recorded.model['env'].rsplit('/', 1)[-1]} · {recorded.state['risk']}"
    pictures = [_picture(stage, each["scene"]) for each in steps]
    trail = [_middle(each["scene"]["cell"]) for each in steps] if stage["kind"] == "cliff" else []
    data = figure.EpisodeData(title, recorded.model["actions"], steps, pictures, _labels(stage), trail)
    return [_image(figure.draw(data, time)) for time in range(len(steps))]


def _image(drawn: Any) -> Image.Image:
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])


def _picture(stage: dict[str, Any], scene: dict[str, Any]) -> NDArray[np.uint8]:
    """The environment as a picture."""
    if stage["kind"] == "cliff":
        far = stage["far_columns"]
        config = windy_cliff.Config(rows=stage["rows"], columns=stage["columns"] - far, far_columns=far)
        row, column = map(np.asarray, scene["cell"])
        state: Any = windy_cliff.State(row, column, np.asarray(0))  # pyright: ignore[reportArgumentType]
        return windy_cliff_render.render_pixels(state, config)
    if stage["kind"] == "cells":
        obs = np.zeros((stage["side"] ** 2, len(stage["channels"])), bool)
        for channel, cells in enumerate(scene["cells"]):
            obs[cells, channel] = True
        return minatar.render_observation(obs.reshape(stage["side"], stage["side"], -1))
    if stage["kind"] == "picture":
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(scene["png"]))).convert("RGB"))
    # Nothing is drawn of other environments: their numbers as shades of grey.
    numbers = np.array(scene["numbers"], float)[None]
    shades = 255 * (numbers - numbers.min()) / max(float(np.ptp(numbers)), 1e-9)
    return np.repeat(shades[..., None], 3, axis=-1).astype(np.uint8)


def _labels(stage: dict[str, Any]) -> Sequence[tuple[float, float, str]]:
    if stage["kind"] != "cliff":
        return ()
    words = [(stage["start"], "start"), (stage["goal"], "goal")]
    winds = zip(stage["ledge"], stage["winds"], strict=True)
    words += [(cell, f"wind {100 * wind:g} %") for cell, wind in winds]
    low = 0.34 * windy_cliff_render.CELL_PIXELS
    return [(_middle(cell)[0], _middle(cell)[1] + low, word) for cell, word in words]


def _middle(cell: Sequence[int]) -> tuple[float, float]:
    """The middle of a cell of the windy cliff's picture, in pixels."""
    row, column = cell
    return (column + 0.5) * windy_cliff_render.CELL_PIXELS, (row + 0.5) * windy_cliff_render.CELL_PIXELS


def _gif(frames: list[Image.Image], speed: float) -> bytes:
    # One palette for all frames, so that what does not change is not stored again.
    middle = frames[len(frames) // 2].quantize(COLOURS)
    first, *others = (each.quantize(palette=middle, dither=Image.Dither.NONE) for each in frames)
    milliseconds = [round(1000 / speed)] * len(frames)
    milliseconds[-1] = round(1000 * LAST_FRAME_SECONDS)
    file = io.BytesIO()
    first.save(
        file, "GIF", save_all=True, append_images=others, duration=milliseconds, loop=0, optimize=False
    )
    return file.getvalue()


def _write_mp4(ffmpeg: str, frames: list[Image.Image], speed: float, path: Path) -> None:
    pipe = io.BytesIO()
    for each in [*frames, *([frames[-1]] * round(LAST_FRAME_SECONDS * speed))]:
        each.save(pipe, "PNG")
    pictures = ["-f", "image2pipe", "-framerate", f"{speed:g}", "-i", "-"]
    command = [
        ffmpeg,
        "-loglevel",
        "error",
        "-y",
        *pictures,
        "-pix_fmt",
        "yuv420p",
        "-movflags",
        "+faststart",
        str(path),
    ]
    done = subprocess.run(command, input=pipe.getvalue(), capture_output=True, check=False)
    if done.returncode:
        raise UserError(
            f"record: ffmpeg could not write {path} ({done.stderr.decode(errors='replace').strip()[:200]})"
        )


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UserError(
            f"{path}: could not be written ({error.strerror}), accepted: a place to write to"
        ) from error
