"""The friendly object: an agent, its environment and its experience, to train, ask, save and load."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import jax
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from surefoot.envs.hosting import CheckedEnvironment, stored_dtype
from surefoot.envs.place import AnyEnvironment, Place, another_like, place_of
from surefoot.risk import risk_aversion_of
from surefoot.runs import checkpoint, directory
from surefoot.runs.blueprint import AnyNetwork, Blueprint, build, draw_up
from surefoot.runs.display import Display
from surefoot.runs.log import Logger, Scalars
from surefoot.runs.provenance import provenance
from surefoot.runs.recorder import Recorder
from surefoot.runs.signals import pass_on, stop_in_order
from surefoot.runs.trainer import Trainer
from surefoot.training import evaluation
from surefoot.training.evaluation import Evaluation
from surefoot.training.seeds import Stream
from surefoot.types import Beliefs, UserError, words

FIRST_PACE = 200
"""Steps made at once in the beginning, when programs are compiled."""
LONGEST_SILENCE = 1.0
"""Seconds between two signs of life, about."""

AModel = TypeVar("AModel", bound="Model")


class Progress(NamedTuple):
    """How far training is: what a callback gets."""

    model: "Model"
    step: int
    """Steps made since the model was born."""
    end: int
    """Step at which this training ends."""
    scalars: Scalars
    """What was logged at this step."""


Callback = Callable[[Progress], bool | None]
"""Called whenever something was logged; False ends the training."""


class Model:
    """An agent with its environment; `DQN`, `QRDQN`, `BootstrappedDQN` and `UADQN` are its kinds."""

    agent_name: ClassVar[str]

    def __init__(
        self,
        env: AnyEnvironment,
        *,
        network: AnyNetwork = None,
        preset: str | None = None,
        normalise: bool = False,
        seed: int = 0,
        env_kwargs: Mapping[str, Any] | None = None,
        driver: str = "auto",
        risk: str | None = None,
        **settings: Any,
    ) -> None:
        """Make an untrained model.

        Args:
            env: A Gymnasium id, a Gymnasium environment, or a Surefoot environment.
            network: "mlp:64,64", "minatar", or a function of a key and a number of outputs that makes an
                Equinox module; by default what suits the observations.
            preset: "control" or "minatar": the settings that are not given here; by default what suits.
            normalise: See vectors through their running mean and variance.
            seed: Of everything that is left to chance.
            env_kwargs: Parameters of the environment, where it is named by an id.
            driver: "compiled" or "hosted"; "auto" compiles Surefoot's own environments.
            risk: Attitude to risk, such as "mean-sd:0.5"; short for it is `risk_aversion=0.5`.
            settings: The agent's own, see its `Config`.
        """
        place = place_of(env, env_kwargs, driver)
        if risk is not None:
            settings["risk_aversion"] = risk_aversion_of(risk)
        blueprint = draw_up(
            self.agent_name,
            place.outside.observation_space,
            place.outside.action_space,
            network=network,
            preset=preset,
            settings=settings,
            env=place.name,
            env_kwargs=place.parameters,
            driver="hosted" if place.inside is None else "compiled",
            normalise=normalise,
            seed=seed,
        )
        self._set_up(blueprint, network, place)

    def _set_up(self, blueprint: Blueprint, network: AnyNetwork, place: Place | None) -> None:
        agent = build(blueprint, network)
        self.blueprint = blueprint
        self.settings = blueprint.settings
        self.observation_space, self.action_space = blueprint.observation_space, blueprint.action_space
        self._place = place
        self._trainer = Trainer(agent, blueprint)
        self._inspect = evaluation.make_inspector(agent)
        self._explore = jax.jit(self._exploring_actions)
        self._questions = 0

    @property
    def num_timesteps(self) -> int:
        """Steps of training so far."""
        return self._trainer.step

    # Asking.

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        *,
        risk_aversion: float | None = None,
        risk: str | None = None,
    ) -> tuple[Any, Any]:
        """The action for an observation, or the actions for a batch of them; and `state` as it came.

        Args:
            observation: One, or a batch along the first axis.
            state: Passed through: these agents have none. (Stable-Baselines3 has this argument.)
            episode_start: Not needed. (Stable-Baselines3 has this argument.)
            deterministic: False explores, as while learning.
            risk_aversion: How many aleatoric standard deviations to take off an action's mean, now.
            risk: The same as text, such as "mean-sd:0.5".
        """
        del episode_start
        aversion = _aversion(risk_aversion, risk)
        if aversion is not None and not deterministic:
            raise UserError("risk_aversion: exploring follows the model's own, accepted: deterministic=True")
        batch, single = self._batch_of(observation)
        params = self._trainer.learner.params
        if deterministic:
            _, actions = self._inspect(params, batch, self._chance(), aversion)
        else:
            actions = self._explore(params, batch, self._chance(), self.num_timesteps)
        chosen = np.asarray(actions, np.int64) + int(self.action_space.start)
        # A number of NumPy's, not an array: environments look it up in dictionaries.
        return (chosen[0] if single else chosen), state

    def beliefs(self, observation: Any) -> Beliefs:
        """What the agent thinks of each action, given one observation or a batch of them."""
        batch, single = self._batch_of(observation)
        found, _ = self._inspect(self._trainer.learner.params, batch, self._chance())
        return jax.tree.map(lambda leaf: leaf[0] if single else leaf, found)

    def evaluate(
        self,
        episodes: int = 100,
        *,
        env: AnyEnvironment | None = None,
        seed: int | None = None,
        risk_aversion: float | None = None,
        risk: str | None = None,
        after_episode: Callable[[], None] = lambda: None,
    ) -> Evaluation:
        """Play episodes without exploring, in an environment of its own or the one given."""
        _require_positive(episodes=episodes)
        judge = self._judge(env).outside
        chance = self.blueprint.seed if seed is None else seed
        aversion = _aversion(risk_aversion, risk)
        act = self._actor(aversion)
        return evaluation.evaluate(act, judge, episodes, chance, Stream.TEST, after_episode=after_episode)

    def _actor(self, risk_aversion: float | None = None) -> Callable[[NDArray[Any]], int]:
        """From one observation to an action, for a model that does not change meanwhile."""
        params, key = self._trainer.learner.params, self._chance()

        def act(obs: NDArray[Any]) -> int:
            return int(self._inspect(params, obs[None], key, risk_aversion)[1][0])

        return act

    def _exploring_actions(self, params: Any, batch: Array, key: Any, step: Any) -> Array:
        agent = self._trainer.agent

        def one(obs: Array, key: Any) -> Any:
            beliefs_key, step_key, episode_key = jax.random.split(key, 3)
            return agent.explore(agent.beliefs(params, obs, beliefs_key), step_key, episode_key, step)

        return jax.vmap(one)(batch, jax.random.split(key, batch.shape[0]))

    def _chance(self) -> Any:
        """A key for the next question, apart from those of training."""
        self._questions += 1
        asking = jax.random.fold_in(jax.random.key(self.blueprint.seed), 2**31 - 1)
        return jax.random.fold_in(asking, self._questions)

    def _batch_of(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """Observations along a first axis, and whether it was only one."""
        shape, wanted = self.observation_space.shape or (), np.dtype(self.observation_space.dtype)
        given = np.asarray(observation)
        if given.shape != shape and (given.ndim == 0 or given.shape[1:] != shape):
            raise UserError(f"observation: got shape {given.shape}, accepted: {shape}, or a batch of such")
        if not np.can_cast(given.dtype, wanted, "same_kind"):
            raise UserError(f"observation: got dtype {given.dtype}, accepted: {wanted}")
        single = given.shape == shape
        batch = given.astype(stored_dtype(self.observation_space))
        return (batch[None] if single else batch), single

    # Learning.

    def learn(
        self: AModel,
        total_timesteps: int,
        *,
        env: AnyEnvironment | None = None,
        out: str | Path | None = None,
        log_every: int = 1_000,
        eval_every: int | None = None,
        eval_episodes: int = 10,
        eval_env: AnyEnvironment | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        loggers: Sequence[Logger] = (),
        progress: bool = True,
    ) -> AModel:
        """Train for this many steps; called again, go on.

        Args:
            total_timesteps: How many, beyond those made before.
            env: Another environment to go on in, with the same spaces.
            out: A new directory in which to keep the run: log, checkpoints, best model.
            log_every: Steps between entries of the log.
            eval_every: Steps between evaluations; the best model is kept in `out`.
            eval_episodes: Episodes per evaluation.
            eval_env: Where to evaluate; by default another environment like the one of training.
            callbacks: One or several, called after each entry of the log; False ends training.
            loggers: Called with a step and its scalars, to send them elsewhere.
            progress: Show progress on standard error.
        """
        _require_positive(
            total_timesteps=total_timesteps,
            log_every=log_every,
            eval_every=1 if eval_every is None else eval_every,
            eval_episodes=eval_episodes,
        )
        trainer = self._enter(env)
        judge = None if eval_every is None else self._judge(eval_env).outside
        end = trainer.step + total_timesteps
        home = None if out is None else Path(out)
        listeners = (callbacks,) if callable(callbacks) else tuple(callbacks)
        title = f"{self.blueprint.env} {self.blueprint.agent}"
        with ExitStack() as stack:
            if home is not None:
                plan = {"steps": end, "log_every": log_every, "eval_every": eval_every}
                config = {**self.blueprint.as_json(), **plan, "eval_episodes": eval_episodes, **provenance()}
                stack.callback(directory.create(home, config).release)
            request = stack.enter_context(stop_in_order())
            display = Display(title, trainer.step, end, on=progress)
            recorder = stack.enter_context(Recorder(home, loggers, display, trainer.step))
            fault, go_on, pace = None, True, FIRST_PACE
            while trainer.step < end and go_on and fault is None and not request():
                begun, before = time.monotonic(), trainer.step
                until = _next_stop(before, end, (log_every, eval_every))
                episodes, fault = trainer.advance(min(until, before + pace), request)
                pace = _pace(trainer.step - before, time.monotonic() - begun)
                recorder.episodes(episodes)
                step, scalars = trainer.step, dict[str, float]()
                if step % log_every == 0 or step == end or fault is not None:
                    scalars |= trainer.scalars()
                if step % log_every == 0:
                    trainer.tally.logged()
                if judge is not None and eval_every and step % eval_every == 0 and fault is None:
                    scalars |= self._keep_best(judge, eval_episodes, step // eval_every, home)
                recorder.show(step, scalars)
                if scalars:
                    recorder.scalars(step, scalars)
                    progressed = Progress(self, step, end, scalars)
                    go_on = False not in [listener(progressed) for listener in listeners]
            if home is not None:
                trainer.save(directory.checkpoint_path(home, "step", trainer.step), self.blueprint)
        if fault is not None:
            raise fault
        pass_on(request)
        return self

    def _enter(self, env: AnyEnvironment | None) -> Trainer:
        """The trainer, in the environment given or in the model's own."""
        if env is not None:
            self._place = self._require_same_spaces(place_of(env))
        elif self._place is None:
            self._place = self._named_place()
        self._trainer.enter(self._place)
        return self._trainer

    def _judge(self, env: AnyEnvironment | None) -> Place:
        """Where to evaluate: apart from where the model learns."""
        if env is not None:
            return self._require_same_spaces(place_of(env))
        return self._named_place() if self._place is None else another_like(self._place)

    def _named_place(self) -> Place:
        """The environment that a loaded model was trained in, by its name."""
        named = self.blueprint
        return self._require_same_spaces(place_of(named.env, named.env_kwargs, named.driver))

    def _require_same_spaces(self, place: Place) -> Place:
        for name in ("observation_space", "action_space"):
            mine, other = getattr(self, name), getattr(place.outside, name)
            if mine != other:
                raise UserError(f"env: {place.name} has {name} {words(other)}, accepted: {words(mine)}")
        return place

    def _keep_best(
        self, judge: CheckedEnvironment, episodes: int, number: int, home: Path | None
    ) -> dict[str, float]:
        """Evaluate, and keep the model if it is the best so far; of equal ones the later."""
        trainer, seed, first = self._trainer, self.blueprint.seed, number * episodes
        found = evaluation.evaluate(self._actor(), judge, episodes, seed, Stream.EVALUATION, first=first)
        if trainer.best is None or found.mean >= trainer.best:
            trainer.best = found.mean
            if home is not None:
                before = directory.best_checkpoint(home)
                trainer.save(
                    directory.checkpoint_path(home, "best", trainer.step), self.blueprint, whole=False
                )
                if before is not None:
                    checkpoint.remove(before)
        return {"eval/mean_reward": found.mean, "eval/mean_ep_length": float(found.lengths.mean())}

    # On disk.

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model, with all that it needs to go on learning, into a new directory."""
        path = Path(path)
        if path.exists() and not overwrite:
            raise UserError(f"save: {path} exists already, accepted: a new directory, or overwrite=True")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                checkpoint.manifest_of(path)  # Whatever else is there is not ours to replace.
                checkpoint.replacing(path, lambda free: self._trainer.save(free, self.blueprint))
            else:
                self._trainer.save(path, self.blueprint)
        except OSError as error:
            raise UserError(f"save: could not write {path} ({error.strerror})") from error

    @classmethod
    def load(
        cls: type[AModel],
        path: str | Path,
        env: AnyEnvironment | None = None,
        *,
        network: AnyNetwork = None,
    ) -> AModel:
        """A model that was saved, or the best one of a run; see `surefoot.load`."""
        model = load(path, env, network=network)
        if not isinstance(model, cls):
            raise UserError(f"load: {path} holds a {type(model).__name__}, accepted: a {cls.__name__}")
        return model


class DQN(Model):
    """DQN: mean values alone."""

    agent_name = "dqn"


class QRDQN(Model):
    """QR-DQN: quantiles of the return."""

    agent_name = "qrdqn"


class BootstrappedDQN(Model):
    """Bootstrapped DQN: several heads, and by their spread the epistemic uncertainty."""

    agent_name = "bootstrapped"


class UADQN(Model):
    """UA-DQN: both uncertainties, Thompson exploration, an attitude to risk."""

    agent_name = "uadqn"


MODELS: dict[str, type[Model]] = {kind.agent_name: kind for kind in (DQN, QRDQN, BootstrappedDQN, UADQN)}


def load(path: str | Path, env: AnyEnvironment | None = None, *, network: AnyNetwork = None) -> Model:
    """A model that was saved, or the best one of a run (its last, where none was evaluated).

    Args:
        path: What `save` wrote, a run's directory, or one of its checkpoints.
        env: Where to go on; by default the environment it was trained in, made when it is needed.
        network: The function that makes its network, where that is a user's own.
    """
    path = Path(path)
    if (path / directory.CONFIG).is_file():
        found = directory.best_checkpoint(path) or directory.last_checkpoint(path)
        if found is None:
            raise UserError(f"load: {path} is a run without checkpoints yet, accepted: one that has some")
        path = found
    if not path.is_dir():
        raise UserError(f"load: got {path}, accepted: a directory that save or train wrote")
    manifest = checkpoint.manifest_of(path)
    blueprint = Blueprint.from_json(manifest.notes.get("model", {}))
    kind = MODELS[blueprint.agent]
    model = kind.__new__(kind)
    model._set_up(blueprint, network, None)  # pyright: ignore[reportPrivateUsage]
    model._trainer.load(path, manifest)  # pyright: ignore[reportPrivateUsage]
    if env is not None:
        model._place = model._require_same_spaces(place_of(env))  # pyright: ignore[reportPrivateUsage]
    return model


def _next_stop(step: int, end: int, every: Sequence[int | None]) -> int:
    """The next step at which there is something to do."""
    return min(end, *((step // each + 1) * each for each in every if each))


def _pace(steps: int, seconds: float) -> int:
    """How many steps to make at once, so that those who watch or want to stop need not wait."""
    return max(1, int(steps / seconds * LONGEST_SILENCE))


def _aversion(risk_aversion: float | None, risk: str | None) -> float | None:
    """An attitude to risk, given as a number or as text."""
    if risk is not None:
        return risk_aversion_of(risk)
    if risk_aversion is not None and not 0 <= risk_aversion < np.inf:
        raise UserError(f"risk_aversion: got {risk_aversion}, accepted: numbers from 0")
    return risk_aversion


def _require_positive(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise UserError(f"{name}: got {value}, accepted: whole numbers from 1")
