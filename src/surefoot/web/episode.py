"""Episodes of an agent, at every step with its beliefs, which can be gone back in and branched.

All episodes of a seed are one tree: a node is a moment and what the agent believes there, its branches are
actions. Beliefs do not depend on the attitude, so that a slider that moves computes nothing again, and
neither does a step back.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot.errors import UserError, require
from surefoot.types import Beliefs
from surefoot.web.choices import Attitude, Choice, MeasureOption, biased_variance, choices_by, choose
from surefoot.web.simulator import Moment, Simulator

MAX_STEPS = 3_000
"""Steps after which an episode on the page is cut off."""
MAX_NODES = 20_000
"""Moments that are kept of one model; beyond, the least recently used episodes are forgotten."""
MAX_ATTITUDES = 64
"""Attitudes whose choices are kept at each moment."""
DIGITS = 5

BelieveAt = Callable[[Any, int], Beliefs]
"""From an observation and a seed to beliefs."""


class Node:
    """A moment, what the agent believes there, and what followed each action that was tried."""

    def __init__(self, moment: Moment, time: int, beliefs: Beliefs | None) -> None:
        self.moment, self.time, self.beliefs = moment, time, beliefs
        self.children: dict[int, Node] = {}
        self._choices: dict[Attitude, Choice] = {}

    def choice(self, attitude: Attitude, seed: int) -> Choice:
        """What the agent would choose here."""
        assert self.beliefs is not None
        if attitude not in self._choices:
            if len(self._choices) >= MAX_ATTITUDES:
                self._choices.clear()
            noise = np.random.default_rng((seed, self.time))
            self._choices[attitude] = choose(self.beliefs, attitude, noise)
        return self._choices[attitude]


class Step(NamedTuple):
    """One step on the way through a tree; at the end of an episode there is no choice and no action."""

    node: Node
    choice: Choice | None
    action: int | None


class EpisodeTree:
    """The episodes of one seed."""

    def __init__(self, simulator: Simulator, believe: BelieveAt, seed: int) -> None:
        self._simulator, self._believe, self.seed = simulator, believe, seed
        self.nodes = 0
        self._root = self._node(simulator.start(seed), 0)

    def _node(self, moment: Moment, time: int) -> Node:
        self.nodes += 1
        # Posteriors that are sampled at each call are sampled alike whenever a moment is come back to.
        seed = (self.seed + 7919 * time) % 2**31
        return Node(moment, time, None if moment.is_end else self._believe(moment.obs, seed))

    def follow(self, given: Sequence[int], attitude: Attitude, first: int, count: int) -> list[Step]:
        """Steps `first` to `first + count` of the episode that begins with the given actions.

        After these the agent chooses by its attitude. Fewer steps are returned if the episode ends.
        """
        node, steps = self._root, list[Step]()
        for time in range(min(first + count, MAX_STEPS)):
            if node.moment.is_end:
                steps += [Step(node, None, None)] if time >= first else []
                break
            is_given, is_wanted = time < len(given), time >= first
            choice = node.choice(attitude, self.seed) if is_wanted or not is_given else None
            action = given[time] if is_given else choice.chosen if choice else 0
            if is_wanted:
                steps.append(Step(node, choice, action))
            if time + 1 < min(first + count, MAX_STEPS):
                node = self._child(node, action)
        return steps

    def _child(self, node: Node, action: int) -> Node:
        if action not in node.children:
            moment = self._simulator.after(node.moment, action)
            node.children[action] = self._node(moment, node.time + 1)
        return node.children[action]


class EpisodeForest:
    """The trees of several seeds of one model, of which the least recently used are forgotten."""

    def __init__(self, simulator: Simulator, believe: BelieveAt, actions: int) -> None:
        self._simulator, self._believe, self._actions = simulator, believe, actions
        self._trees: dict[int, EpisodeTree] = {}

    def follow(
        self, seed: int, given: Sequence[int], attitude: Attitude, first: int, count: int
    ) -> list[Step]:
        """Steps of an episode, see `EpisodeTree.follow`."""
        if not all(0 <= action < self._actions for action in given):
            raise UserError(f"actions: got one outside, accepted: numbers from 0 to {self._actions - 1}")
        require("actions", len(given), len(given) <= MAX_STEPS, f"at most {MAX_STEPS}")
        require("from", first, 0 <= first < MAX_STEPS, f"numbers from 0 to {MAX_STEPS - 1}")
        if seed not in self._trees:
            self._trees[seed] = EpisodeTree(self._simulator, self._believe, seed)
        tree = self._trees[seed] = self._trees.pop(seed)  # The last one is the one used last.
        steps = tree.follow(given, attitude, first, count)
        while sum(each.nodes for each in self._trees.values()) > MAX_NODES:
            self._trees.pop(next(iter(self._trees)))
        return steps


def step_as_json(step: Step, options: list[MeasureOption], estimator: str) -> dict[str, Any]:
    """A step for the page: what to draw, what is believed, and what is chosen."""
    node, moment = step.node, step.node.moment
    found: dict[str, Any] = {
        "time": node.time,
        "scene": moment.scene,
        "reward": _rounded(moment.reward),
        "events": list(moment.events),
        "terminated": moment.terminated,
        "truncated": moment.truncated,
    }
    if node.beliefs is not None and step.choice is not None:
        found |= {
            "beliefs": beliefs_as_json(node.beliefs),
            "values": _rounded(step.choice.values),
            "greedy": step.choice.greedy,
            "chosen": step.choice.chosen,
            "action": step.action,
            "by_measure": choices_by(node.beliefs, options, estimator),
        }
    return found


def beliefs_as_json(beliefs: Beliefs) -> dict[str, Any]:
    """Beliefs as plain numbers; variances are raw, so that unbiased ones may be negative."""
    quantiles = None if beliefs.quantiles is None else np.sort(np.asarray(beliefs.quantiles), axis=-1)
    return {
        "mean": _rounded(beliefs.mean),
        "epistemic_variance": _rounded(beliefs.epistemic_variance),
        "aleatoric_variance": _rounded(beliefs.aleatoric_variance),
        "biased_variance": _rounded(biased_variance(beliefs)),
        "quantiles": _rounded(quantiles),
        "members": _rounded(beliefs.members),
    }


def _rounded(numbers: Any) -> Any:
    """Numbers or nested lists of them, with the digits that a page can show; None for what is not finite."""
    if numbers is None:
        return None
    array = np.asarray(numbers, float)
    if array.ndim:
        return [_rounded(each) for each in array]
    return float(f"{float(array):.{DIGITS}g}") if np.isfinite(array) else None
