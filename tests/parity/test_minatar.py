"""MinAtar against the reference, in lock step: same states, same actions, the same outcomes of chance."""

import jax
import numpy as np
import pytest

from surefoot.envs import minatar

STICKY = 0.1
DEEP, EMPTY_ENDS, EMPTY = 25, -1, 99
EAGER = [0.05, 0.05, 0.7, 0.05, 0.1, 0.05]
"""Upwards mostly: chance alone does not cross Freeway's road."""


class Scripted:
    """Chance that was decided elsewhere: the reference asks, and gets what our environment drew."""

    def __init__(self):
        self.answers = []

    def rand(self, *_):
        return self.answers.pop(0)

    def randint(self, *_, **__):
        return self.answers.pop(0)


def sides(*decisions):
    """Numbers that fall on the side of a threshold that was decided on."""
    return [0.0 if each else 0.9 for each in decisions]


def either(key, chances=None):
    chances = None if chances is None else np.array(chances, np.float32)
    return bool(jax.random.choice(key, np.array([True, False]), p=chances))


def row(key):
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
    """What our step draws from its key, as answers to the questions that the reference is about to ask."""
    if game == "asterix" and env.spawn_timer == 0:
        keys = jax.random.split(key, 4)
        free = [i for i, entity in enumerate(env.entities) if entity is None]
        chances = (
            np.array([i in free for i in range(8)], np.float32) if free else np.eye(8, dtype=np.float32)[0]
        )
        slot = int(jax.random.choice(keys[3], np.arange(8), p=chances / chances.sum()))
        spawned = sides(either(keys[1]), either(keys[2], [1 / 3, 2 / 3]))
        return spawned + ([free.index(slot)] if free else [])
    if game == "freeway":
        return speeds_and_directions(jax.random.split(key)[1])
    if game == "seaquest":
        keys = jax.random.split(key, 6)
        enemy = [*sides(either(keys[1]), either(keys[2], [1 / 3, 2 / 3])), row(keys[3])]
        diver = [*sides(either(keys[4])), row(keys[5])]
        return (enemy if env.e_spawn_timer == 0 else []) + (diver if env.d_spawn_timer == 0 else [])
    return []


def start(game, key):
    """What our reset draws, likewise."""
    if game == "breakout":
        return [int(jax.random.choice(key, 2))]
    return speeds_and_directions(key) if game == "freeway" else []


def rows(things, count, width, nothing=EMPTY_ENDS):
    table = np.full((count, width), nothing, np.int32)
    for place, thing in enumerate(things):
        if thing is not None:
            table[place] = np.array(thing, int)
    return table


LISTS = {
    "asterix": {"entities": (8, 4, EMPTY)},
    "freeway": {"cars": (8, 4)},
    "seaquest": {
        "f_bullets": (5, 3),
        "e_bullets": (DEEP, 3),
        "e_fish": (DEEP, 4),
        "e_subs": (DEEP, 5),
        "divers": (5, 4),
    },
}


def whole_state(game, reference, ours):
    """Every field of ours, from the reference."""
    found = {}
    for name, value in ours.items():
        field = name.removeprefix("_")
        if field == "last_action":
            found[name] = reference.last_action
        elif field in LISTS.get(game, {}):
            found[name] = rows(getattr(reference.env, field), *LISTS[game][field])
        elif field == "ramp_index" and game == "seaquest":
            found[name] = reference.env.ramp_index + 1  # Counted from 1: see `surefoot.envs.seaquest`.
        elif field not in {"step_count", "shot_timer"} or game != "asterix":
            found[name] = getattr(reference.env, field, value)
    return found


def disturb(game, rng, reference, state):
    """The same change to both: into corners of the game where play by chance seldom comes."""
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
            # About to meet a bullet as it moves, its own shot due.
            sub = reference.env.e_subs[0]
            sub[3] = sub[4] = 0
            place = sub[0] + (2 if sub[2] else -2)
            reference.env.f_bullets = [[place, sub[1], not sub[2]]] if 0 <= place <= 9 else []
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
        for name, value in whole_state(game, reference, state).items()
    } | {name: value for name, value in state.items() if name in {"_step_count"}}


@pytest.mark.parametrize("game", list(minatar.CHANNELS))
@pytest.mark.parametrize("disturbed", [False, True], ids=["played", "disturbed"])
def test_in_lock_step_with_the_reference(game, disturbed):
    reference_package = pytest.importorskip("minatar")
    reference = reference_package.Environment(game, sticky_action_prob=STICKY)
    ours = minatar.make(game, sticky_action_prob=STICKY)
    reset, step = jax.jit(ours.reset), jax.jit(ours.step)
    sticky, chance = Scripted(), Scripted()
    reference.random, reference.env.random = sticky, chance
    rng = np.random.default_rng([list(minatar.CHANNELS).index(game), disturbed])
    keys = iter(jax.random.split(jax.random.key(int(rng.integers(2**31))), 20_000))
    episodes = rewarded = longest = 0
    action, over = 0, True
    for _ in range(6_000):
        if over:
            key = next(keys)
            state, obs = reset(key)
            chance.answers = start(game, key)
            reference.reset()
            reference.last_action = 0  # The reference carries it into the next episode; ours begins anew.
            episodes, length = episodes + 1, 0
            np.testing.assert_array_equal(obs, reference.state())
        if disturbed and rng.random() < 0.05:
            state = disturb(game, rng, reference, state)
        # Actions that last a while, as a player's do.
        action = action if rng.random() < 0.6 else int(rng.choice(6, p=EAGER if game == "freeway" else None))
        key = next(keys)
        sticky.answers = [float(jax.random.uniform(sticky_key(game, key)))]
        chance.answers = outcomes(game, key, reference.env)
        reward, over = reference.act(action)
        found = step(state, np.int32(action), key)
        state = found.state
        np.testing.assert_array_equal(found.obs, reference.state())
        assert (float(found.reward), bool(found.terminated)) == (reward, over)
        assert not bool(found.truncated)
        if not over:
            for name, value in whole_state(game, reference, state).items():
                np.testing.assert_array_equal(state[name], value, err_msg=name)
        rewarded, length = rewarded + (reward != 0), length + 1
        longest = max(longest, length)
    assert episodes > 1
    assert rewarded > 5
    assert longest > 50
