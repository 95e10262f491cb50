"""MinAtar against the reference package, in lock step: same states, actions and random outcomes."""

import jax
import numpy as np
import pytest

from surefoot.envs import minatar

STICKY = 0.1
MAX_ENEMIES, EMPTY, EMPTY_ENTITY = 25, -1, 99
"""Rows of Seaquest's lists of enemies, and the numbers that fill rows not in use."""
MOSTLY_UP = [0.05, 0.05, 0.7, 0.05, 0.1, 0.05]
"""Probabilities of actions in Freeway: uniformly random ones do not cross the road."""


class ScriptedRandom:
    """A random number generator for the reference that returns what our environment drew."""

    def __init__(self):
        self.numbers = []

    def rand(self, *_):
        return self.numbers.pop(0)

    def randint(self, *_, **__):
        return self.numbers.pop(0)


def sides(*decisions):
    """Uniform numbers that make the reference take these decisions: below its threshold if true."""
    return [0.0 if each else 0.9 for each in decisions]


def draw_bool(key, probabilities=None):
    probabilities = None if probabilities is None else np.array(probabilities, np.float32)
    return bool(jax.random.choice(key, np.array([True, False]), p=probabilities))


def draw_row(key):
    return int(jax.random.choice(key, np.arange(1, 9)))


def speeds_and_directions(key):
    first, second = jax.random.split(key)
    speeds = np.array(jax.random.randint(first, [8], 1, 6, dtype=np.int32))
    directions = np.asarray(jax.random.choice(second, np.array([-1, 1], np.int32), [8]))
    return [speeds, np.where(directions > 0, 0.75, 0.25)]


def sticky_key(game, key):
    counts = {"asterix": 4, "freeway": 2, "seaquest": 6}
    return jax.random.split(key, counts[game])[0] if game in counts else key


def outcomes(game, key, env):
    """What our step draws from its key, in the order in which the reference draws it."""
    if game == "asterix" and env.spawn_timer == 0:
        keys = jax.random.split(key, 4)
        free = [i for i, entity in enumerate(env.entities) if entity is None]
        weights = (
            np.array([i in free for i in range(8)], np.float32) if free else np.eye(8, dtype=np.float32)[0]
        )
        slot = int(jax.random.choice(keys[3], np.arange(8), p=weights / weights.sum()))
        spawned = sides(draw_bool(keys[1]), draw_bool(keys[2], [1 / 3, 2 / 3]))
        return spawned + ([free.index(slot)] if free else [])
    if game == "freeway":
        return speeds_and_directions(jax.random.split(key)[1])
    if game == "seaquest":
        keys = jax.random.split(key, 6)
        enemy = [*sides(draw_bool(keys[1]), draw_bool(keys[2], [1 / 3, 2 / 3])), draw_row(keys[3])]
        diver = [*sides(draw_bool(keys[4])), draw_row(keys[5])]
        return (enemy if env.e_spawn_timer == 0 else []) + (diver if env.d_spawn_timer == 0 else [])
    return []


def reset_outcomes(game, key):
    """What our reset draws from its key, in the order in which the reference draws it."""
    if game == "breakout":
        return [int(jax.random.choice(key, 2))]
    return speeds_and_directions(key) if game == "freeway" else []


def rows(entries, count, width, fill=EMPTY):
    """A list of the reference as an array of a fixed number of rows."""
    table = np.full((count, width), fill, np.int32)
    for index, entry in enumerate(entries):
        if entry is not None:
            table[index] = np.array(entry, int)
    return table


LISTS = {
    "asterix": {"entities": (8, 4, EMPTY_ENTITY)},
    "freeway": {"cars": (8, 4)},
    "seaquest": {
        "f_bullets": (5, 3),
        "e_bullets": (MAX_ENEMIES, 3),
        "e_fish": (MAX_ENEMIES, 4),
        "e_subs": (MAX_ENEMIES, 5),
        "divers": (5, 4),
    },
}


def expected_state(game, reference, ours):
    """The fields of our state with the values that the reference has for them."""
    expected = {}
    for name, value in ours.items():
        field = name.removeprefix("_")
        if field == "last_action":
            expected[name] = reference.last_action
        elif field in LISTS.get(game, {}):
            expected[name] = rows(getattr(reference.env, field), *LISTS[game][field])
        elif field == "ramp_index" and game == "seaquest":
            expected[name] = (
                reference.env.ramp_index + 1
            )  # Counted from 1: see `surefoot.envs.seaquest_corrections`.
        elif field not in {"step_count", "shot_timer"} or game != "asterix":
            expected[name] = getattr(reference.env, field, value)
    return expected


def disturb(game, rng, reference, state):
    """Make the same change to both, into states that random play seldom reaches."""
    changed = {}
    if game == "seaquest":
        changed = {
            "oxygen": int(rng.integers(0, 6) if rng.random() < 0.5 else rng.integers(6, 201)),
            "diver_count": int(rng.integers(0, 7)),
            "sub_x": int(rng.integers(1, 9)),
            "sub_y": int(rng.integers(1, 4)),
            "e_spawn_speed": int(rng.integers(1, 8)),
        }
        for sub in reference.env.e_subs:
            sub[4] = int(rng.integers(0, 3))
        if reference.env.e_subs and rng.random() < 0.5:
            # It will meet a bullet as it moves, when its own shot is due.
            sub = reference.env.e_subs[0]
            sub[3] = sub[4] = 0
            x = sub[0] + (2 if sub[2] else -2)
            reference.env.f_bullets = [[x, sub[1], not sub[2]]] if 0 <= x <= 9 else []
    if game == "asterix":
        changed = {"spawn_speed": int(rng.integers(1, 4)), "ramp_timer": int(rng.integers(0, 3))}
    if game == "space_invaders":
        kept = rng.random((10, 10)) < 0.3
        if np.any(reference.env.alien_map * kept):
            changed = {"alien_map": reference.env.alien_map * kept}
    if game == "freeway":
        changed = {"pos": int(rng.integers(1, 4)), "terminate_timer": int(rng.integers(0, 400))}
    if game == "breakout":
        bricks = np.zeros((10, 10))
        bricks[1:4] = rng.random((3, 10)) < rng.choice([0.0, 0.1, 0.7])
        changed = {"brick_map": bricks}
    for name, value in changed.items():
        setattr(reference.env, name, value)
    return {
        name: np.asarray(value, state[name].dtype)
        for name, value in expected_state(game, reference, state).items()
    } | {name: value for name, value in state.items() if name in {"_step_count"}}


@pytest.mark.parametrize("game", list(minatar.CHANNELS))
@pytest.mark.parametrize("disturbed", [False, True], ids=["played", "disturbed"])
def test_a_game_agrees_with_the_reference_in_lock_step(game, disturbed):
    reference_package = pytest.importorskip("minatar")
    reference = reference_package.Environment(game, sticky_action_prob=STICKY)
    ours = minatar.make(game, sticky_action_prob=STICKY)
    reset, step = jax.jit(ours.reset), jax.jit(ours.step)
    sticky, game_random = ScriptedRandom(), ScriptedRandom()
    reference.random, reference.env.random = sticky, game_random
    rng = np.random.default_rng([list(minatar.CHANNELS).index(game), disturbed])
    keys = iter(jax.random.split(jax.random.key(int(rng.integers(2**31))), 20_000))
    episodes = rewarded = longest = 0
    action, terminated = 0, True
    for _ in range(6_000):
        if terminated:
            key = next(keys)
            state, obs = reset(key)
            game_random.numbers = reset_outcomes(game, key)
            reference.reset()
            reference.last_action = 0  # The reference keeps it for the next episode; ours does not.
            episodes, length = episodes + 1, 0
            np.testing.assert_array_equal(obs, reference.state())
        if disturbed and rng.random() < 0.05:
            state = disturb(game, rng, reference, state)
        # Actions are often repeated, as by a player.
        probabilities = MOSTLY_UP if game == "freeway" else None
        action = action if rng.random() < 0.6 else int(rng.choice(6, p=probabilities))
        key = next(keys)
        sticky.numbers = [float(jax.random.uniform(sticky_key(game, key)))]
        game_random.numbers = outcomes(game, key, reference.env)
        reward, terminated = reference.act(action)
        ours_after = step(state, np.int32(action), key)
        state = ours_after.state
        np.testing.assert_array_equal(ours_after.obs, reference.state())
        assert (float(ours_after.reward), bool(ours_after.terminated)) == (reward, terminated)
        assert not bool(ours_after.truncated)
        if not terminated:
            for name, value in expected_state(game, reference, state).items():
                np.testing.assert_array_equal(state[name], value, err_msg=name)
        rewarded, length = rewarded + (reward != 0), length + 1
        longest = max(longest, length)
    assert episodes > 1
    assert rewarded > 5
    assert longest > 50
