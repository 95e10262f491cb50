"""Corrections to pgx's Seaquest where it departs from the reference, MinAtar 1.0.15.

pgx 2.6.0 departs from it in five ways:

- bullets of enemies that leave the screen are never removed, and later bullets stand still, harmless;
- a submarine that is hit as it moves does not fire the shot that was due;
- without oxygen the episode ends one step late;
- the gauge of an empty oxygen tank shows nine cells;
- enemies speed up at surfacings 1, 3, 5 instead of 2, 4, 6.
"""

from collections.abc import Callable
from importlib.util import find_spec, module_from_spec
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int

EMPTY = -1
"""Fills the rows of a list that are not in use."""

Rows = Int[Array, "_ _"]
"""A list of bullets, fish, submarines or divers: each row begins with x, y and whether it moves right."""
MOVE_TIMER, SHOT_TIMER = 3, 4
"""Columns of an enemy submarine's timers."""


def corrected_module() -> Any:
    """A corrected copy of pgx's module; the module that others import does not change."""
    spec: Any = find_spec("pgx.minatar.seaquest")
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    module._update_enemy_subs = _with_shots_of_hit_submarines(module._update_enemy_subs)
    return module


def corrected_init(state: Any) -> Any:
    """A first state whose level is 1, so that enemies speed up at the reference's surfacings."""
    return state.replace(_ramp_index=jnp.ones_like(state._ramp_index))


def corrected_step(before: Any, after: Any, observe: Callable[[Any], Array]) -> Any:
    """The next state without bullets outside the screen, and terminated if the oxygen tank was empty."""
    bullets = after._e_bullets
    terminal = after._terminal | (before._oxygen <= 0)
    after = after.replace(
        _e_bullets=_compact(bullets, _is_on_screen(bullets[:, 0])),
        _terminal=terminal,
        terminated=terminal,
    )
    return after.replace(observation=observe(after))


def corrected_observe(observe: Callable[[Any], Array]) -> Callable[[Any], Array]:
    """A function like `observe` that shows an empty oxygen tank as empty."""
    return lambda state: observe(state.replace(_oxygen=jnp.maximum(state._oxygen, 0)))


def _with_shots_of_hit_submarines(update: Callable[..., Any]) -> Callable[..., Any]:
    """A function like `update` in which every submarine whose shot is due fires it, hit or not."""

    def update_with_shots(f_bullets: Rows, e_subs: Rows, e_bullets: Rows, *rest: Any) -> Any:
        moves = e_subs[:, MOVE_TIMER] == 0
        ahead = jnp.where(e_subs[:, 2] == 1, 1, -1).astype(e_subs.dtype)
        x = e_subs[:, 0] + jnp.where(moves, ahead, jnp.zeros_like(ahead))
        fires = (e_subs[:, 0] != EMPTY) & (e_subs[:, SHOT_TIMER] == 0) & _is_on_screen(x)
        # The last submarine moves first.
        shots = jnp.stack([x, e_subs[:, 1], e_subs[:, 2]], axis=1)[::-1]
        all_bullets = jnp.concatenate([e_bullets, shots])
        in_use = jnp.concatenate([e_bullets[:, 0] != EMPTY, fires[::-1]])
        f_bullets, e_subs, _, *others = update(f_bullets, e_subs, e_bullets, *rest)
        return f_bullets, e_subs, _compact(all_bullets, in_use)[: len(e_bullets)], *others

    return update_with_shots


def _is_on_screen(x: Array) -> Array:
    return (x >= 0) & (x <= 9)


def _compact(rows: Rows, in_use: Array) -> Rows:
    """The rows that are in use, in their order, then empty ones."""
    order = jnp.argsort(~in_use, stable=True)
    return jnp.where(in_use[order][:, None], rows[order], jnp.full_like(rows, EMPTY))
