"""A model at one checkpoint, with an environment to play in: what the page asks about episodes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from surefoot.errors import UserError
from surefoot.model import load
from surefoot.model_spec import budget_rule
from surefoot.risk import parse_risk
from surefoot.types import Beliefs
from surefoot.web.choices import Attitude, measure_options
from surefoot.web.episode import EpisodeForest, Step, step_as_json
from surefoot.web.scenes import action_names
from surefoot.web.simulator import simulator_of

MAX_MODELS = 3
"""Models that are kept loaded."""


class WatchedModel:
    """A model that answers, the environment that it was trained in, and the episodes played so far."""

    def __init__(self, checkpoint: Path) -> None:
        self.model = load(checkpoint, experience=False)
        spec = self.model.spec
        if budget_rule(self.model.settings) is not None:
            # Its actions follow from a budget that no attitude of the page knows.
            raise UserError("objective: got static, accepted by watch: the other objectives")
        self.simulator, handle = simulator_of(spec.env, spec.env_kwargs)
        self._episodes = EpisodeForest(self.simulator, self._believe, int(spec.action_space.n))
        first = self.simulator.start(0)
        self._example = self._believe(first.obs, 0)
        self.options = measure_options(self._example)
        self.actions = action_names(
            handle.gym.env.spec.id if handle.gym.env.spec else spec.env,
            int(spec.action_space.n),
            int(spec.action_space.start),
            handle.gym.env,
        )

    def _believe(self, obs: Any, seed: int) -> Beliefs:
        found = self.model.beliefs(obs, seed=seed)
        return jax.tree.map(np.asarray, found)

    @property
    def risk(self) -> str:
        """The agent's own attitude to risk."""
        return getattr(self.model.settings, "risk", "mean")

    def describe(self) -> dict[str, Any]:
        """What the page must know to draw an episode and to offer choices."""
        settings, example = self.model.settings, self._example
        return {
            "env": self.model.spec.env,
            "agent": self.model.spec.agent,
            "trained_steps": self.model.num_timesteps,
            "actions": self.actions,
            "stage": self.simulator.stage.description,
            "discount": settings.discount,
            "risk": self.risk,
            "measures": [each._asdict() for each in self.options],
            "exploration": getattr(settings, "exploration", None),
            "has": {
                "epistemic": example.epistemic_variance is not None,
                "aleatoric": example.aleatoric_variance is not None,
                "quantiles": example.quantiles is not None,
                "estimators": example.quantiles is not None and example.epistemic_variance is not None,
            },
        }

    def attitude(self, risk: str, exploration: float, estimator: str) -> Attitude:
        """The attitude that the page asked for; the agent's own risk measure may be one of its user's."""
        if risk and risk == self.risk:
            return Attitude.parsed("mean", exploration, estimator)._replace(risk=parse_risk(risk))
        return Attitude.parsed(risk or "mean", exploration, estimator)

    def steps(
        self, seed: int, given: Sequence[int], attitude: Attitude, first: int, count: int
    ) -> list[Step]:
        """Steps of an episode, see `EpisodeTree.follow`."""
        return self._episodes.follow(seed, given, attitude, first, count)

    def episode(
        self, seed: int, given: Sequence[int], attitude: Attitude, first: int, count: int
    ) -> list[dict[str, Any]]:
        """Steps of an episode as the page draws them."""
        steps = self.steps(seed, given, attitude, first, count)
        return [step_as_json(each, self.options, attitude.estimator) for each in steps]


class WatchedModels:
    """The models that are loaded, of which the least recently used are forgotten."""

    def __init__(self) -> None:
        self._models: dict[Path, WatchedModel] = {}

    def get(self, checkpoint: Path) -> WatchedModel:
        """The model of a checkpoint."""
        found = self._models.pop(checkpoint, None)
        if found is None and not checkpoint.is_dir():
            raise UserError(f"checkpoint: {checkpoint.name} is not there any more, accepted: a newer one")
        found = found or WatchedModel(checkpoint)
        self._models[checkpoint] = found
        while len(self._models) > MAX_MODELS:
            self._models.pop(next(iter(self._models)))
        return found
