"""Episodes of a policy that hands over, several side by side, with what was decided at each step."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.envs.checked import CheckedEnv, boolean_entries
from surefoot.training.evaluation import Episodes, Evaluation


class Decided(NamedTuple):
    """The actions for a batch of observations, and how they came about."""

    actions: NDArray[np.int64]
    """In the terms of the environment."""
    signal: NDArray[np.float64]
    """How unsure the agent is of its own action."""
    handed_over: NDArray[np.bool_]
    """Where the fallback decided."""


Decide = Callable[[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]], Decided]
"""From a batch of observations, where the fallback has control, and where an action is needed at all."""


class Playthrough(NamedTuple):
    """Some episodes, and what was decided at each of their steps."""

    evaluation: Evaluation
    signal: list[NDArray[np.float64]]
    """How unsure the agent was of its own action at each step of each episode."""
    handed_over: list[NDArray[np.bool_]]
    """At which steps of each episode the fallback decided."""

    @property
    def hand_over_rate(self) -> float:
        """The share of all steps at which the fallback decided."""
        return float(np.concatenate(self.handed_over).mean())

    @property
    def hand_overs(self) -> int:
        """How often control went to the fallback."""
        return sum(int(each[0]) + int(np.sum(each[1:] & ~each[:-1])) for each in self.handed_over)

    @property
    def starts(self) -> NDArray[np.bool_]:
        """Which of all steps are the first of their episodes."""
        first = np.zeros(sum(map(len, self.signal)), bool)
        first[np.cumsum([0, *map(len, self.signal[:-1])])] = True
        return first


def play(
    decide: Decide,
    envs: Sequence[CheckedEnv],
    episodes: Episodes,
    *,
    first_action: int = 0,
    after_episode: Callable[[], None] = lambda: None,
) -> Playthrough:
    """Play the episodes in as many environments side by side; each takes the next one when its own ends.

    `first_action` is the number by which the environment calls its first action.
    """
    total, lanes = episodes.total, envs[: episodes.total]
    found = Evaluation(np.zeros(total), np.zeros(total, np.int64), np.zeros(total, bool), {})
    signal, handed_over = [list[float]() for _ in range(total)], [list[bool]() for _ in range(total)]
    playing = list(range(len(lanes)))
    """The episode of each lane; one that is not below the total has nothing left to play."""
    upcoming = len(lanes)
    obs = [env.reset(episodes.seed_of(episode)) for env, episode in zip(lanes, playing, strict=True)]
    has_control = np.zeros(len(lanes), bool)
    while min(playing) < total:
        decided = decide(np.stack(obs), has_control, np.array(playing) < total)
        has_control = decided.handed_over.copy()
        for lane, (env, episode) in enumerate(zip(lanes, playing, strict=True)):
            if episode >= total:
                continue
            step = env.step(int(decided.actions[lane]) - first_action)
            obs[lane] = step.obs
            signal[episode].append(float(decided.signal[lane]))
            handed_over[episode].append(bool(decided.handed_over[lane]))
            found.returns[episode] += step.reward
            found.lengths[episode] += 1
            for name, value in boolean_entries(step.info).items():
                found.events.setdefault(name, np.zeros(total, np.int64))[episode] += value
            ended = step.terminated or step.truncated
            found.cut_off[episode] = not ended and found.lengths[episode] >= episodes.max_steps
            if not ended and not found.cut_off[episode]:
                continue
            after_episode()
            playing[lane], upcoming, has_control[lane] = upcoming, upcoming + 1, False
            if playing[lane] < total:
                obs[lane] = env.reset(episodes.seed_of(playing[lane]))
    return Playthrough(found, [np.array(each) for each in signal], [np.array(each) for each in handed_over])
