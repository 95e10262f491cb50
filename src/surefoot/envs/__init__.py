"""Environments, one per file, registered with Gymnasium."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium

from surefoot.envs import (
    deep_sea,
    deep_sea_render,
    delayed_bandit,
    minatar,
    noisy_chain,
    windy_cliff,
    windy_cliff_render,
)
from surefoot.envs.as_gymnasium import GymnasiumEnvironment


def windy_cliff_for_gymnasium(render_mode: str | None = None, **parameters: Any) -> GymnasiumEnvironment:
    """The environment `surefoot/WindyCliff-v0`: every field of `windy_cliff.Config` is a parameter."""
    config = windy_cliff.Config(**parameters)

    def name_info(info: Mapping[str, Any]) -> dict[str, Any]:
        return {"fell": info["fell"], "fall_cause": windy_cliff.FALL_CAUSES[info["fall_cause"]]}

    return GymnasiumEnvironment(
        windy_cliff.make(config),
        {
            "rgb_array": partial(windy_cliff_render.render_pixels, config=config),
            "ansi": partial(windy_cliff_render.render_text, config=config),
        },
        name_info,
        render_mode,
    )


gymnasium.register(id="surefoot/WindyCliff-v0", entry_point=windy_cliff_for_gymnasium)


def deep_sea_for_gymnasium(render_mode: str | None = None, **parameters: Any) -> GymnasiumEnvironment:
    """The environment `surefoot/DeepSea-v0`: every field of `deep_sea.Config` is a parameter."""
    config = deep_sea.Config(**parameters)
    renders = {
        "rgb_array": partial(deep_sea_render.render_pixels, config=config),
        "ansi": partial(deep_sea_render.render_text, config=config),
    }
    return GymnasiumEnvironment(deep_sea.make(config), renders, render_mode=render_mode)


gymnasium.register(id="surefoot/DeepSea-v0", entry_point=deep_sea_for_gymnasium)


def noisy_chain_for_gymnasium(render_mode: str | None = None, **parameters: Any) -> GymnasiumEnvironment:
    """The environment `surefoot/NoisyChain-v0`: every field of `noisy_chain.Config` is a parameter."""
    config = noisy_chain.Config(**parameters)
    return GymnasiumEnvironment(noisy_chain.make(config), {}, render_mode=render_mode)


gymnasium.register(id="surefoot/NoisyChain-v0", entry_point=noisy_chain_for_gymnasium)


def delayed_bandit_for_gymnasium(render_mode: str | None = None, **parameters: Any) -> GymnasiumEnvironment:
    """The environment `surefoot/DelayedBandit-v0`: every field of `delayed_bandit.Config` is a parameter."""
    config = delayed_bandit.Config(**parameters)
    return GymnasiumEnvironment(delayed_bandit.make(config), {}, render_mode=render_mode)


gymnasium.register(id="surefoot/DelayedBandit-v0", entry_point=delayed_bandit_for_gymnasium)


def minatar_for_gymnasium(
    game: str, render_mode: str | None = None, *, sticky_action_prob: float = 0.1
) -> GymnasiumEnvironment:
    """The environments `surefoot/MinAtar-Breakout-v0` and so on, one for each game."""
    environment = minatar.make(game, sticky_action_prob=sticky_action_prob)
    renders = {} if render_mode is None else {"rgb_array": minatar.make_render(game)}
    return GymnasiumEnvironment(environment, renders, render_mode=render_mode)


MINATAR_IDS = {game: f"surefoot/MinAtar-{game.title().replace('_', '')}-v0" for game in minatar.CHANNELS}
for _game, _id in MINATAR_IDS.items():
    gymnasium.register(id=_id, entry_point="surefoot.envs:minatar_for_gymnasium", kwargs={"game": _game})
