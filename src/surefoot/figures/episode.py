"""One step of an episode: the environment, what is believed about each action, and both uncertainties."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, EPISTEMIC, INK, SHADES, styled
from surefoot.strips import kernel_density

QUIET = "#57606a"
ROW = 0.62
"""Height of the tallest density, in rows."""


class EpisodeData(NamedTuple):
    """An episode as the page has it.

    - `steps`: its steps; the last one has no beliefs if the episode has ended.
    - `pictures`: the environment at each step, `[height, width, 3]`.
    - `labels`: words on the picture and where, in pixels.
    - `trail`: where the agent is at each step, in pixels.
    """

    title: str
    actions: Sequence[str]
    steps: Sequence[Mapping[str, Any]]
    pictures: Sequence[NDArray[np.uint8]]
    labels: Sequence[tuple[float, float, str]] = ()
    trail: Sequence[tuple[float, float]] = ()


@styled
def draw(data: EpisodeData, time: int) -> Figure:
    """A frame of a recording."""
    figure = Figure(figsize=(7.2, 4.0), dpi=100)
    axes = figure.subplot_mosaic(
        [["world", "beliefs"], ["lines", "beliefs"]], width_ratios=(4, 5), height_ratios=(7, 4)
    )
    _draw_world(axes["world"], data, time)
    _draw_beliefs(axes["beliefs"], data, time)
    _draw_lines(axes["lines"], data, time)
    return figure


def _draw_world(axes: Axes, data: EpisodeData, time: int) -> None:
    axes.imshow(data.pictures[time], interpolation="nearest")
    for x, y, word in data.labels:
        axes.text(x, y, word, ha="center", va="center", fontsize=6.5, color=INK)
    if data.trail:
        axes.plot(*zip(*data.trail[: time + 1], strict=True), color=INK, linewidth=2, alpha=0.6)
    axes.axis("off")
    earned = sum(float(each["reward"]) for each in data.steps[: time + 1])
    events = ", ".join(data.steps[time]["events"]).replace("_", " ")
    ending = f" · {events or 'end'}" if "beliefs" not in data.steps[time] else ""
    axes.set_title(f"{data.title}\nstep {time} · return so far {earned:.3g}{ending}", fontsize=9)


def _draw_beliefs(axes: Axes, data: EpisodeData, time: int) -> None:
    step, count = data.steps[time], len(data.actions)
    low, high = _domain(data.steps)
    for action in range(count):
        if "beliefs" in step:
            _draw_action(axes, step, action, count - 1 - action, low, high)
    axes.set(xlim=(low, high), ylim=(-0.45, count - 0.02), xlabel="return")
    axes.set_yticks(range(count), list(reversed(data.actions)))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title("What it believes about each action", fontsize=9)
    for x, color, word in (
        (0.0, INK, "| mean"),
        (0.2, ALEATORIC, "▬ aleatoric"),
        (0.52, EPISTEMIC, "|—| epistemic"),
    ):
        axes.text(x, 1.0, word, transform=axes.transAxes, color=color, fontsize=8, va="top")


def _draw_action(axes: Axes, step: Mapping[str, Any], action: int, y: int, low: float, high: float) -> None:
    beliefs, mean = step["beliefs"], step["beliefs"]["mean"][action]
    is_taken = step["action"] == action
    if is_taken:
        axes.axhspan(y - 0.36, y + 0.66, color=SHADES[1], alpha=0.7, linewidth=0)
        axes.text(high, y + 0.32, "chosen ", color=ALEATORIC, fontsize=8, ha="right", weight="bold")
    axes.axhline(y, color="#e0e4e8", linewidth=0.8, zorder=0)
    if beliefs["quantiles"] is not None:
        quantiles = np.array(beliefs["quantiles"][action])
        at = np.linspace(low, high, 200)
        height = kernel_density(quantiles, at, least_width=(high - low) / 130)
        axes.fill_between(
            at, y, y + ROW * height / height.max(), color=SHADES[0], edgecolor=ALEATORIC, linewidth=0.8
        )
        axes.vlines(quantiles, y, y + 0.07, color=ALEATORIC, linewidth=0.6)
    for name, color, down, width in (
        ("aleatoric", ALEATORIC, 0.13, 4.0),
        ("epistemic", EPISTEMIC, 0.26, 1.5),
    ):
        spread = _deviation(beliefs[f"{name}_variance"], action)
        if spread is not None:
            axes.hlines(y - down, mean - spread, mean + spread, color=color, linewidth=width)
            if name == "epistemic":
                axes.vlines(
                    [mean - spread, mean + spread],
                    y - down - 0.06,
                    y - down + 0.06,
                    color=color,
                    linewidth=1.5,
                )
    axes.vlines(mean, y - 0.32, y + 0.62, color=INK, linewidth=1.2)


def _draw_lines(axes: Axes, data: EpisodeData, time: int) -> None:
    decided = [each for each in data.steps if "beliefs" in each]
    for name, color in (("aleatoric", ALEATORIC), ("epistemic", EPISTEMIC)):
        spreads = [_deviation(each["beliefs"][f"{name}_variance"], each["action"]) for each in decided]
        known = [each for each in spreads if each is not None]
        if len(known) == len(decided):
            axes.plot(range(len(known)), known, color=color, linewidth=1.3, label=name)
    axes.axvline(time, color=INK, linewidth=0.8, linestyle=":")
    axes.set(xlim=(0, max(1, len(data.steps) - 1)), ylim=(0, None))
    axes.set_title("Uncertainty of the action taken", fontsize=9)
    axes.set_xlabel("step", fontsize=8, labelpad=0)
    axes.tick_params(labelsize=7, colors=QUIET)


def _deviation(variances: Sequence[float] | None, action: int) -> float | None:
    return None if variances is None else float(np.sqrt(max(0.0, variances[action])))


def _domain(steps: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """The returns that hold all that is believed in an episode."""
    ends = list[float]()
    for beliefs in (each["beliefs"] for each in steps if "beliefs" in each):
        for action, mean in enumerate(beliefs["mean"]):
            spreads = (
                _deviation(beliefs[f"{name}_variance"], action) or 0.0 for name in ("aleatoric", "epistemic")
            )
            spread = max(spreads)
            ends += [mean - spread, mean + spread]
            ends += [] if beliefs["quantiles"] is None else beliefs["quantiles"][action]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    room = max(0.04 * (high - low), 0.1)
    return low - room, high + room
