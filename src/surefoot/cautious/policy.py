"""A policy that acts by a model where it is sure, and by a fallback where it is not."""

import copy
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from surefoot.cautious import storage
from surefoot.cautious.fallback import Question, resolve_fallback
from surefoot.cautious.playing import Decided, Playthrough, play
from surefoot.cautious.thresholds import NEVER, Thresholds, fit_thresholds
from surefoot.envs.checked import CheckedEnv
from surefoot.envs.resolve import EnvHandle, EnvLike, clone_env
from surefoot.errors import UserError, require, require_whole_number
from surefoot.risk import NamedRiskMeasure
from surefoot.training.episode_seeds import Stream
from surefoot.training.evaluation import MAX_EPISODE_STEPS, MAX_SIDE_BY_SIDE, Episodes
from surefoot.types import Beliefs

Measure = Callable[[Beliefs, NDArray[np.int64]], Any]
"""From beliefs about a batch and the model's actions, counted from 0, to how unsure it is of each."""


def epistemic_of_action(beliefs: Beliefs, actions: NDArray[np.int64]) -> Any:
    """The epistemic standard deviation of the return of each action.

    Of the action that the model would take, not the largest of all: a policy that was learned well leaves
    most other actions untried, and would be interrupted everywhere for what it is not going to do.
    """
    return np.take_along_axis(np.asarray(beliefs.epistemic), actions[:, None], axis=-1)[:, 0]


class CautiousState(NamedTuple):
    """What `predict` needs at the next step: where the fallback has control, and the model's own state."""

    handed_over: NDArray[np.bool_]
    model: Any


class _Fitted(NamedTuple):
    """What thresholds are fitted to: held-out episodes that the model played alone, and how to play them."""

    alone: Playthrough
    held_out: Callable[[Any], Playthrough]


class Cautious:
    """A model with a fallback, used like a model: `action, state = cautious.predict(obs, state)`."""

    def __init__(
        self,
        model: Any,
        fallback: Any,
        *,
        budget: float = 0.05,
        risk: str | NamedRiskMeasure | None = None,
        measure: Measure = epistemic_of_action,
        seed: int = 0,
    ) -> None:
        """Make the policy; unless the budget is 0 or 1, `fit` or `load` must set its thresholds.

        Args:
            model: A model that knows what it has not learned: anything with `predict`, `beliefs` and spaces.
            fallback: Decides in its place: a function of the observation, anything with `predict`, "random",
                or an exception to raise.
            budget: The share of the steps to hand over, as far as the future is like the episodes of `fit`.
                0 never hands over, 1 always does.
            risk: Attitude to risk of the model's decisions; by default its own.
            measure: How unsure the model is, from its beliefs and the actions that it would take.
            seed: Seed of the fallback "random".
        """
        require("budget", budget, 0 <= budget <= 1, "a share from 0 to 1")
        self.model, self.budget = model, float(budget)
        self.observation_space, self.action_space = model.observation_space, model.action_space
        require("model", type(model).__name__, isinstance(self.action_space, Discrete), "discrete actions")
        self._fallback = resolve_fallback(fallback, self.action_space, seed)
        self._risk = {} if risk is None else {"risk": risk}
        self._measure = measure
        if measure is epistemic_of_action:
            _require_epistemic(model)
        self._can_go_on = not _is_exception(fallback)
        self._fitted: _Fitted | None = None
        self._thresholds: Thresholds | None = storage.WITHOUT_FIT.get(self.budget)
        self.steps = 0
        """Actions predicted so far."""
        self.handed_over_steps = 0
        """Those of them that the fallback decided."""
        self.hand_overs = 0
        """How often control went to the fallback."""
        self.is_handed_over: Any = False
        """Whether the fallback made the last decision; an array for a batch."""

    @property
    def thresholds(self) -> Thresholds:
        """Above which uncertainty control is handed over, and at which it is handed back."""
        if self._thresholds is None:
            raise UserError("thresholds: not fitted yet, accepted: fit(...) first, load(...), budget 0 or 1")
        return self._thresholds

    @property
    def threshold(self) -> float:
        """The uncertainty above which control is handed over."""
        return self.thresholds.hand_over

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, CautiousState]:
        """The action for an observation, or the actions for a batch of them; and the state for the next call.

        Args:
            observation: One, or a batch along the first axis.
            state: What the last call returned; without it nothing is remembered, and control goes back as
                soon as the uncertainty is not above the upper threshold.
            episode_start: Where true, a new episode has begun, and the model has control again.
            deterministic: False lets the model explore where it has control.
        """
        given = np.asarray(observation)
        single = given.shape == (self.observation_space.shape or ())
        batch = given[None] if single else given
        before = _control_before(state, episode_start, len(batch))
        inner = state.model if isinstance(state, CautiousState) else None
        proposed, inner = self.model.predict(
            batch, state=inner, episode_start=episode_start, deterministic=deterministic, **self._risk
        )
        decided = self._decide(batch, np.asarray(proposed), before, np.ones(len(batch), bool))
        self.is_handed_over = bool(decided.handed_over[0]) if single else decided.handed_over
        actions = decided.actions[0] if single else decided.actions
        return actions, CautiousState(decided.handed_over, inner)

    def _decide(
        self,
        batch: NDArray[Any],
        proposed: NDArray[Any],
        before: NDArray[np.bool_],
        needed: NDArray[np.bool_],
    ) -> Decided:
        signal = self._signal(batch, proposed)
        handed_over = self.thresholds.next_control(before, signal) & needed
        # Before the fallback is asked, which may raise an exception.
        self.is_handed_over = handed_over
        self.steps += int(needed.sum())
        self.handed_over_steps += int(handed_over.sum())
        self.hand_overs += int(np.sum(handed_over & ~before))
        actions = proposed
        if handed_over.any():
            answer = self._fallback(Question(batch, handed_over, signal))
            actions = np.where(handed_over, np.asarray(answer), proposed)
        return Decided(actions.astype(np.int64), signal, handed_over)

    def _signal(self, batch: NDArray[Any], proposed: NDArray[Any]) -> NDArray[np.float64]:
        counted_from_0 = proposed.astype(np.int64) - int(self.action_space.start)
        return np.asarray(self._measure(self.model.beliefs(batch), counted_from_0), float)

    # Fitting.

    def fit(
        self,
        episodes: int = 100,
        *,
        env: EnvLike | None = None,
        seed: int | None = None,
        max_episode_steps: int = MAX_EPISODE_STEPS,
        after_episode: Callable[[], None] = lambda: None,
    ) -> "Cautious":
        """Set the thresholds so that the budget is met on held-out episodes.

        The model plays them alone first, then together with the fallback, because the share of steps that
        are handed over depends on where the fallback leads.

        Args:
            episodes: How many.
            env: Where; by default in an environment of its own like that of training.
            seed: Seed of the episodes; by default the model's, with other episodes than any in training or
                evaluation.
            max_episode_steps: Steps after which an episode is cut off.
            after_episode: Called after each episode that the model plays alone.
        """

        def held_out(policy: "Cautious", after_episode: Callable[[], None] = lambda: None) -> Playthrough:
            return policy._play(Stream.HELD_OUT, episodes, env, seed, max_episode_steps, after_episode)

        self._fitted = _Fitted(held_out(self._with(NEVER), after_episode), held_out)
        self._thresholds = self._fit_to(self.budget)
        return self

    def at_budget(self, budget: float) -> "Cautious":
        """The same policy with another budget, fitted to the same held-out episodes."""
        require("budget", budget, 0 <= budget <= 1, "a share from 0 to 1")
        other = self._with(self._fit_to(budget))
        other.budget = float(budget)
        return other

    def _fit_to(self, budget: float) -> Thresholds:
        if self._fitted is None:
            raise UserError("thresholds: not fitted in this process, accepted: fit(...) first")
        alone, held_out = self._fitted

        def realised_share(thresholds: Thresholds) -> float:
            return held_out(self._with(thresholds)).hand_over_rate if self._can_go_on else 0.0

        return fit_thresholds(np.concatenate(alone.signal), alone.starts, budget, realised_share)

    def _with(self, thresholds: Thresholds) -> "Cautious":
        """The same policy with other thresholds, and its own counts."""
        other = copy.copy(self)
        other._thresholds = thresholds
        other.steps = other.handed_over_steps = other.hand_overs = 0
        return other

    # Playing.

    def evaluate(
        self,
        episodes: int = 100,
        *,
        env: EnvLike | None = None,
        seed: int | None = None,
        max_episode_steps: int = MAX_EPISODE_STEPS,
        after_episode: Callable[[], None] = lambda: None,
    ) -> Playthrough:
        """Play the episodes that the model's own `evaluate` plays, with hand-overs."""
        return self._play(Stream.TEST, episodes, env, seed, max_episode_steps, after_episode)

    def _play(
        self,
        stream: Stream,
        episodes: int,
        env: EnvLike | None,
        seed: int | None,
        max_episode_steps: int,
        after_episode: Callable[[], None],
    ) -> Playthrough:
        which = Episodes(
            require_whole_number("episodes", episodes, 1),
            self.model.spec.seed if seed is None else require_whole_number("seed", seed, 0),
            stream,
            max_steps=require_whole_number("max_episode_steps", max_episode_steps, 1),
        )

        def decide(batch: Any, before: NDArray[np.bool_], needed: NDArray[np.bool_]) -> Decided:
            proposed, _ = self.model.predict(batch, **self._risk)
            return self._decide(batch, np.asarray(proposed), before, needed)

        with self.model.evaluation_env(env) as handle, _side_by_side(handle, which.total) as envs:
            first_action = int(self.action_space.start)
            return play(decide, envs, which, first_action=first_action, after_episode=after_episode)

    # Saving and loading.

    def save(self, path: str | Path) -> Path:
        """Write the thresholds as JSON: into a model's directory, or to a file of this name."""
        return storage.write(Path(path), self.model, self.budget, self.thresholds)

    @classmethod
    def load(cls, path: str | Path, model: Any, fallback: Any, **options: Any) -> "Cautious":
        """The policy whose thresholds `save` wrote; the model must be the one that they were fitted to."""
        budget, thresholds = storage.read(Path(path), model)
        loaded = cls(model, fallback, budget=budget, **options)
        loaded._thresholds = thresholds
        return loaded


def _is_exception(fallback: Any) -> bool:
    kind = fallback if isinstance(fallback, type) else type(fallback)
    return issubclass(kind, BaseException)


def _require_epistemic(model: Any) -> None:
    space = model.observation_space
    example = np.full(space.shape or (), getattr(space, "start", 0), space.dtype)
    known = model.beliefs(example).epistemic_variance is not None
    accepted = "an agent that has, such as UADQN or BootstrappedDQN"
    require("model", f"{type(model).__name__}, without epistemic uncertainty", known, accepted)


def _control_before(state: Any, episode_start: Any, count: int) -> NDArray[np.bool_]:
    """Where the fallback had control, and still may have."""
    if state is None:
        return np.zeros(count, bool)
    if not isinstance(state, CautiousState) or len(state.handed_over) != count:
        given = f"a state of {len(state.handed_over)}" if isinstance(state, CautiousState) else type(state)
        raise UserError(
            f"state: got {given} for a batch of {count}, accepted: None, or what predict returned"
        )
    return state.handed_over & ~np.asarray(False if episode_start is None else episode_start, bool)


@contextmanager
def _side_by_side(handle: EnvHandle, count: int) -> Generator[list[CheckedEnv]]:
    """Environments to play in at once: a single one if it was given as a Gymnasium object."""
    is_single = handle.is_object and handle.jax is None
    wanted = 1 if is_single else min(count, MAX_SIDE_BY_SIDE)
    copies = [clone_env(handle).gym for _ in range(wanted - 1)]
    try:
        yield [handle.gym, *copies]
    finally:
        for each in copies:
            each.close()
