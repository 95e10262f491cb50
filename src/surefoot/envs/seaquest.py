"""MinAtar's Seaquest, where pgx departs from the reference brought back to it.

pgx 2.6.0 differs from MinAtar 1.0.15 in five ways, each put right here in one place:

- bullets of enemies that leave the screen are never removed: later ones hang in the air, harmless;
- a submarine that is hit as it moves does not fire the shot that was due;
- without oxygen the episode ends one step late;
- the gauge of an empty tank shows nine cells;
- enemies speed up at surfacings 1, 3, 5 instead of 2, 4, 6.
"""

from collections.abc import Callable
from importlib.util import find_spec, module_from_spec
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int

NOTHING = -1
"""Fills the rows of a list that hold nothing."""

Rows = Int[Array, "_ _"]
"""A list of things, each a row that begins with where it is: x, y, whether it goes right."""
MOVE_TIMER, SHOT_TIMER = 3, 4
"""Fields of an enemy submarine."""


def corrected_module() -> Any:
    """Pgx's Seaquest, a copy of the module of our own: the one that others import stays as it is."""
    spec: Any = find_spec("pgx.minatar.seaquest")
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    module._update_enemy_subs = _with_parting_shots(module._update_enemy_subs)
    return module


def corrected_start(state: Any) -> Any:
    """A first state; its level counts from 1, so that every second surfacing counts as the reference's."""
    return state.replace(_ramp_index=jnp.ones_like(state._ramp_index))


def corrected_step(before: Any, after: Any, observe: Callable[[Any], Array]) -> Any:
    """What follows a state: bullets outside are gone, and an empty tank ends it."""
    bullets = after._e_bullets
    terminal = after._terminal | (before._oxygen <= 0)
    after = after.replace(
        _e_bullets=_compact(bullets, _is_on_screen(bullets[:, 0])),
        _terminal=terminal,
        terminated=terminal,
    )
    return after.replace(observation=observe(after))


def corrected_observe(observe: Callable[[Any], Array]) -> Callable[[Any], Array]:
    """Shows an empty tank as empty."""
    return lambda state: observe(state.replace(_oxygen=jnp.maximum(state._oxygen, 0)))


def _with_parting_shots(update: Callable[..., Any]) -> Callable[..., Any]:
    """Moves submarines as `update` does; every one whose shot is due fires it, hit or not."""

    def update_with_shots(f_bullets: Rows, e_subs: Rows, e_bullets: Rows, *rest: Any) -> Any:
        moves = e_subs[:, MOVE_TIMER] == 0
        ahead = jnp.where(e_subs[:, 2] == 1, 1, -1).astype(e_subs.dtype)
        x = e_subs[:, 0] + jnp.where(moves, ahead, jnp.zeros_like(ahead))
        fires = (e_subs[:, 0] != NOTHING) & (e_subs[:, SHOT_TIMER] == 0) & _is_on_screen(x)
        # The last one moves first.
        shots = jnp.stack([x, e_subs[:, 1], e_subs[:, 2]], axis=1)[::-1]
        all_bullets = jnp.concatenate([e_bullets, shots])
        kept = jnp.concatenate([e_bullets[:, 0] != NOTHING, fires[::-1]])
        f_bullets, e_subs, _, *others = update(f_bullets, e_subs, e_bullets, *rest)
        return f_bullets, e_subs, _compact(all_bullets, kept)[: len(e_bullets)], *others

    return update_with_shots


def _is_on_screen(x: Array) -> Array:
    return (x >= 0) & (x <= 9)


def _compact(rows: Rows, kept: Array) -> Rows:
    """The rows that are kept, in their order, then nothing."""
    order = jnp.argsort(~kept, stable=True)
    return jnp.where(kept[order][:, None], rows[order], jnp.full_like(rows, NOTHING))
