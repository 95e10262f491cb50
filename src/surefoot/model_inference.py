"""Inference with a model: predict actions, show beliefs, evaluate."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from surefoot.envs.budget import WithBudget, add_budget
from surefoot.envs.resolve import EnvHandle, EnvLike, clone_env, resolve_env
from surefoot.errors import UserError, require_whole_number
from surefoot.model_spec import ModelSpec, agent_of, budget_rule, own_risk
from surefoot.recalibration import Recalibration, recalibrated
from surefoot.risk import NamedRiskMeasure, frontier_of, risk_from
from surefoot.runs.live_run import LiveRun
from surefoot.settings import build, require_known
from surefoot.strips import table_html
from surefoot.text import single_line
from surefoot.training.driver import Stop, never_stop
from surefoot.training.episode_seeds import Stream
from surefoot.training.evaluation import (
    MAX_EPISODE_STEPS,
    Episodes,
    Evaluation,
    Player,
    evaluate_compiled,
    evaluate_hosted,
)
from surefoot.training.frontier import Frontier, frontier_of_evaluations
from surefoot.training.inference import Predictor
from surefoot.types import Beliefs

if TYPE_CHECKING:
    from surefoot.audit import Audit


class ModelInference:
    """The part of a model that answers: it needs parameters, but no training."""

    def _set_up(self, spec: ModelSpec, network: Any, optimiser: Any, env: EnvHandle | None) -> None:
        self.spec = spec
        self.settings = spec.settings
        self.observation_space, self.action_space = spec.observation_space, spec.action_space
        self._agent = agent_of(spec, network, optimiser)
        self._env: EnvHandle | None = env
        self._live_run = LiveRun(self._agent, spec)
        self._set_recalibration(None)

    def _set_recalibration(self, recalibration: Recalibration | None) -> None:
        """Believe recalibrated quantiles from now on, or those that were learned; training stays the same."""
        self.recalibration = recalibration
        agent = self._agent if recalibration is None else recalibrated(self._agent, recalibration)
        self._acting_agent = agent
        self._predictor = Predictor(agent, self.observation_space, self.action_space, self.spec.seed)

    @property
    def parameters(self) -> Any:
        """The parameters of the agent's networks, as a pytree."""
        return self._live_run.learner.params

    def _repr_html_(self) -> str:
        """What a notebook shows: what the model is, and how far it has learned."""
        spec = self.spec
        rows = {"environment": spec.env, "steps of training": f"{self.num_timesteps:,}", "seed": spec.seed}
        rows |= {"network": spec.network, "preset": spec.preset, "actions": int(spec.action_space.n)}
        shown = ("risk", "posterior", "explorer", "exploration", "discount")
        rows |= {name: getattr(self.settings, name) for name in shown if hasattr(self.settings, name)}
        return table_html(type(self).__name__, rows)

    @property
    def num_timesteps(self) -> int:
        """Steps of training so far."""
        return self._live_run.learned_steps

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        *,
        risk: str | NamedRiskMeasure | None = None,
        risk_aversion: float | None = None,
    ) -> tuple[Any, Any]:
        """The action for an observation, or the actions for a batch of them; and the state for the next call.

        Args:
            observation: One, or a batch along the first axis.
            state: What the last call returned, so that an agent that explores by one draw per episode follows
                it; None at first.
            episode_start: Where true, a new episode has begun.
            deterministic: False explores, as while learning.
            risk: Attitude to risk for this decision, such as "mean-sd:0.5"; by default the agent's own.
            risk_aversion: Short for risk="mean-sd:...".
        """
        measure, params = self._measure(risk, risk_aversion), self._live_run.learner.params
        if deterministic:
            return self._predictor.best_actions(params, observation, measure), state
        if measure is not None:
            raise UserError(
                f"risk: got {measure} with deterministic=False, which follows the model's own, "
                "accepted: deterministic=True"
            )
        return self._predictor.exploring_actions(
            params, observation, self.num_timesteps, state, episode_start
        )

    def with_budget(self, env: EnvLike) -> WithBudget:
        """A Gymnasium environment whose observations end with the budget that a static objective acts by.

        Its episodes begin with the budget that the agent believes is best, as those of `evaluate` do.
        """
        handle = self._adapted(resolve_env(env, driver="hosted"))
        if not isinstance(handle.gym.env, WithBudget):
            raise UserError("with_budget: got a model without budgets, accepted: one with objective=static")
        self._begin_with_best_budget(handle)
        return handle.gym.env

    def beliefs(self, observation: Any, *, seed: int | None = None) -> Beliefs:
        """What the agent believes about each action, given one observation or a batch of them.

        Posteriors that are sampled anew at each call, such as dropout, give equal beliefs for equal seeds.
        After `audit(recalibrate=True)`, `quantiles` are recalibrated, and `is_recalibrated` is true.
        """
        return self._predictor.beliefs(self._live_run.learner.params, observation, seed)

    def evaluate(
        self,
        episodes: int = 100,
        *,
        env: EnvLike | None = None,
        seed: int | None = None,
        risk: str | NamedRiskMeasure | None = None,
        risk_aversion: float | None = None,
        max_episode_steps: int = MAX_EPISODE_STEPS,
        after_episode: Callable[[], None] = lambda: None,
    ) -> Evaluation:
        """Play episodes without exploring, in an environment of its own or in the one given.

        An episode that has not ended after `max_episode_steps` is cut off, and marked in `cut_off`.
        """
        which = Episodes(
            require_whole_number("episodes", episodes, 1),
            self.spec.seed if seed is None else require_whole_number("seed", seed, 0),
            Stream.TEST,
            max_steps=require_whole_number("max_episode_steps", max_episode_steps, 1),
        )
        with self.evaluation_env(env) as handle:
            found = self._play(
                handle, which, risk=self._measure(risk, risk_aversion), after_episode=after_episode
            )
        assert found is not None
        return found

    def frontier(self, risk: str = "cvar", episodes: int = 100, **options: Any) -> Frontier:
        """What each degree of an attitude to risk, from neutral to averse, costs and saves: a table.

        Args:
            risk: The name of a measure: mean-sd, cvar, wang, entropic, power or pessimism. Degrees that are
                finer than the agent's quantiles resolve are left out.
            episodes: Episodes for each degree, the same ones.
            **options: As in `evaluate`.
        """
        attitudes, refused = list[NamedRiskMeasure](), list[UserError]()
        for attitude in frontier_of(risk):
            try:
                self._measure(attitude, None)
                self._predictor.decision(self._live_run.learner.params, attitude)
                attitudes.append(attitude)
            except UserError as error:
                refused.append(error)
        if len(attitudes) < 2:
            raise refused[0]
        return frontier_of_evaluations(
            attitudes, lambda attitude: self.evaluate(episodes, risk=attitude, **options)
        )

    def audit(
        self,
        *,
        env: EnvLike | None = None,
        env_other: EnvLike | None = None,
        history: Mapping[str, NDArray[Any]] | None = None,
        advance: Callable[[float], None] = lambda _: None,
        **settings: Any,
    ) -> "Audit":
        """Compare what the agent believes with what happens; its claims say whether its uncertainty is right.

        Args:
            env: Where to play; by default another environment like the one of training.
            env_other: Another environment of the same shape, whose observations the agent should not know.
            history: Columns of the run's log, for errors by step where the truth is exact.
            advance: Called with the fraction of the work that was just done.
            settings: Of `surefoot.audit.Config`: episodes, states, continuations, seed; with
                `recalibrate=True` the model's quantiles are recalibrated, until it learns on.
        """
        from surefoot import audit  # It draws, and drawing takes long to import.
        from surefoot.audit import subject

        require_known("an audit", settings, audit.Config)
        config = build(audit.Config, settings)
        with ExitStack() as stack:
            handle = stack.enter_context(self.evaluation_env(env))
            other = None if env_other is None else self._adapted(resolve_env(env_other))
            if other is not None and not other.is_object:
                stack.callback(other.gym.close)
            learned = subject.of_agent(
                self._acting_agent,
                self._predictor,
                self.parameters,
                self.spec,
                handle,
                self.num_timesteps,
                self._live_run.replay,
            )
            found = audit.audit(learned, config, other=other, history=history, advance=advance)
        if found.recalibration is not None:
            self._set_recalibration(found.recalibration)
        return found

    def _play(
        self,
        env: EnvHandle,
        episodes: Episodes,
        stop: Stop = never_stop,
        *,
        risk: NamedRiskMeasure | None = None,
        after_episode: Callable[[], None] = lambda: None,
    ) -> Evaluation | None:
        params = self._live_run.learner.params
        player = Player(
            self._acting_agent,
            self._predictor,
            params,
            self.num_timesteps,
            risk,
            own_risk(self.settings),
            self.settings.discount,
        )
        self._begin_with_best_budget(env)
        if env.jax is not None:
            return evaluate_compiled(player, env.jax, episodes, after_episode=after_episode, stop=stop)
        return evaluate_hosted(player, env.gym, episodes, after_episode=after_episode, stop=stop)

    @contextmanager
    def evaluation_env(self, env: EnvLike | None) -> Generator[EnvHandle]:
        """An environment for evaluation, apart from that of training; closed afterwards if it is ours."""
        if env is not None:
            handle = self._with_same_spaces(self._adapted(resolve_env(env)))
        else:
            handle = self._named_env() if self._env is None else clone_env(self._env)
        try:
            yield handle
        finally:
            if env is None or not handle.is_object:
                handle.gym.close()

    def _named_env(self) -> EnvHandle:
        """The environment that a loaded model was trained in, by its name."""
        spec = self.spec
        if spec.env_is_object:
            raise UserError(f"env: {spec.env} was given as an object, accepted: give it again (env=...)")
        handle = resolve_env(spec.env, spec.env_kwargs, spec.driver)
        return self._with_same_spaces(self._adapted(handle))

    def _resolved(self, env: EnvLike) -> EnvHandle:
        """An environment to train in: a run continues with the driver that it began with."""
        return self._adapted(resolve_env(env, driver=self.spec.driver))

    def _adapted(self, env: EnvHandle) -> EnvHandle:
        """The environment as the agent observes it: with a budget, if its objective is static."""
        rule = budget_rule(self.settings)
        return env if rule is None else add_budget(env, rule)

    def _begin_with_best_budget(self, env: EnvHandle) -> None:
        """Let episodes through Gymnasium begin with the best budget; compiled ones do so by themselves."""
        if isinstance(env.gym.env, WithBudget):
            env.gym.env.first = lambda obs: self._predictor.place_of_best_budget(
                self._live_run.learner.params, obs
            )

    def _measure(
        self, risk: str | NamedRiskMeasure | None, risk_aversion: float | None
    ) -> NamedRiskMeasure | None:
        """The risk measure to act by; None for the agent's own policy, which alone knows its budgets."""
        measure = risk_from(risk, risk_aversion)
        if measure is None or not self._agent.has_budget:
            return measure
        own = own_risk(self.settings)
        if measure != own:
            raise UserError(f"risk: got {measure:g} for a model with objective=static, accepted: {own:g}")
        return None

    def _with_same_spaces(self, env: EnvHandle) -> EnvHandle:
        for name in ("observation_space", "action_space"):
            mine, other = getattr(self, name), getattr(env.gym, name)
            if mine != other:
                given, accepted = single_line(other), single_line(mine)
                raise UserError(f"env: {env.name} has {name} {given}, accepted: {accepted}")
        return env
