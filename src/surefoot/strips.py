"""What is believed about each action, as strips in HTML: the picture of `surefoot watch` for notebooks.

It takes plain numbers, so that the contracts can show themselves by it.
"""

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALEATORIC, EPISTEMIC, SHAPE = "#3b8fd4", "#d55e00", "#a9d3f5"
WIDTH, ROW, LEFT, RIGHT, AXIS = 560, 46, 74, 60, 26
"""Pixels: of a picture, of an action's row, left and right of the strips, and of the axis below."""
MAX_PICTURES = 4
"""Observations of a batch that are shown."""
POINTS = 90


def kernel_density(
    sample: NDArray[np.floating[Any]], at: NDArray[np.floating[Any]], least_width: float = 0.0
) -> NDArray[np.floating[Any]]:
    """The density of a small sample at some places, by Gaussian kernels.

    They are narrower than is best for a bell (0.35 of the standard deviation instead of 1.06), so that two
    outcomes stay two; `least_width` keeps a distribution without spread visible.
    """
    width = max(least_width, 0.35 * float(sample.std()) * len(sample) ** -0.2, 1e-12)
    kernels = np.exp(-0.5 * ((at[:, None] - sample[None, :]) / width) ** 2)
    return kernels.mean(axis=1) / (width * np.sqrt(2 * np.pi))


def beliefs_html(mean: Any, epistemic: Any, aleatoric: Any, quantiles: Any) -> str:
    """Strips for one observation, or for the first few of a batch; what an agent cannot give is None."""
    parts = [
        None if part is None else np.asarray(part, float) for part in (mean, epistemic, aleatoric, quantiles)
    ]
    assert parts[0] is not None
    if parts[0].ndim == 1:
        return _picture(*parts)
    if parts[0].ndim != 2:
        return f"<code>Beliefs of shape {escape(str(parts[0].shape))}</code>"
    count = len(parts[0])
    shown = [
        f"<div>observation {i}</div>{_picture(*(None if part is None else part[i] for part in parts))}"
        for i in range(min(count, MAX_PICTURES))
    ]
    more = f"<div>and {count - MAX_PICTURES} more</div>" if count > MAX_PICTURES else ""
    return "".join(shown) + more


def table_html(title: str, rows: dict[str, Any]) -> str:
    """A small table of names and values."""
    left = "style='text-align:left'"
    cells = "".join(
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><caption {left}><b>{escape(title)}</b></caption>{cells}</table>"


def _picture(mean: Any, epistemic: Any, aleatoric: Any, quantiles: Any) -> str:
    low, high = _domain(mean, epistemic, aleatoric, quantiles)

    def x(value: Any) -> float:
        return LEFT + (float(value) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    rows, words = list[str](), list[str]()
    for action, centre in enumerate(mean):
        floor = action * ROW + ROW * 0.64
        rows.append(f'<text x="4" y="{floor}">action {action}</text>')
        rows.append(f'<text x="{WIDTH - 4}" y="{floor}" text-anchor="end">{centre:.3g}</text>')
        if quantiles is not None:
            rows.append(_density(quantiles[action], low, high, x, floor))
        said = [f"action {action}: mean {centre:.3g}"]
        for name, spreads, down, width in (("aleatoric", aleatoric, 5, 5), ("epistemic", epistemic, 11, 2)):
            if spreads is not None:
                spread, color = spreads[action], ALEATORIC if name == "aleatoric" else EPISTEMIC
                line = f"M{x(centre - spread):.1f} {floor + down}H{x(centre + spread):.1f}"
                rows.append(f'<path d="{line}" stroke="{color}" stroke-width="{width}"/>')
                said.append(f"{name} {spread:.3g}")
        rows.append(
            f'<path d="M{x(centre):.1f} {floor - 24}V{floor + 13}" stroke="currentColor" stroke-width="1.5"/>'
        )
        words.append(", ".join(said))
    height = len(mean) * ROW + AXIS
    base = len(mean) * ROW + 4
    axis = f'<path d="M{LEFT} {base}H{WIDTH - RIGHT}" stroke="currentColor" opacity="0.4"/>'
    ends = ((low, "start"), ((low + high) / 2, "middle"), (high, "end"))
    axis += "".join(
        f'<text x="{x(at):.1f}" y="{base + 16}" text-anchor="{anchor}">{at:.3g}</text>' for at, anchor in ends
    )
    label = escape("Beliefs: " + "; ".join(words), quote=True)
    return (
        f'<svg role="img" aria-label="{label}" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" fill="currentColor">'
        f"{''.join(rows)}{axis}</svg>"
    )


def _density(quantiles: NDArray[Any], low: float, high: float, x: Any, floor: float) -> str:
    at = np.linspace(low, high, POINTS)
    height = kernel_density(quantiles, at, least_width=(high - low) / 130)
    heights = 24 * height / height.max()
    line = "L".join(f"{x(a):.1f} {floor - h:.1f}" for a, h in zip(at, heights, strict=True))
    ticks = "".join(f"M{x(each):.1f} {floor}v-4" for each in quantiles)
    outline = (
        f'<path d="M{x(low):.1f} {floor}L{line}L{x(high):.1f} {floor}Z" fill="{SHAPE}" stroke="{ALEATORIC}"/>'
    )
    return f'{outline}<path d="{ticks}" stroke="{ALEATORIC}"/>'


def _domain(mean: Any, epistemic: Any, aleatoric: Any, quantiles: Any) -> tuple[float, float]:
    ends = [mean] + [
        mean + sign * each for each in (epistemic, aleatoric) if each is not None for sign in (-1, 1)
    ]
    ends += [] if quantiles is None else [quantiles.reshape(-1)]
    low, high = min(float(each.min()) for each in ends), max(float(each.max()) for each in ends)
    room = max(0.04 * (high - low), 1e-6)
    return low - room, high + room
