"""The model: an agent with its environment and its experience, to train, save, load and resume."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from surefoot.agents import AGENTS
from surefoot.agents.base import AgentKind
from surefoot.envs.resolve import EnvHandle, EnvLike, resolve_env
from surefoot.errors import UserError, require, require_whole_number
from surefoot.model_inference import ModelInference
from surefoot.model_spec import ModelSpec, NetworkLike, resolve_spec
from surefoot.optimisers import OptimiserLike
from surefoot.recalibration import Recalibration
from surefoot.runs import checkpoint, directory, training_loop
from surefoot.runs.custom_metrics import resolve_probe
from surefoot.runs.log_files import Logger
from surefoot.runs.provenance import provenance
from surefoot.runs.resume import resumed_run
from surefoot.runs.schedule import TrainingSchedule
from surefoot.runs.tensorboard import Scalars
from surefoot.runs.training_loop import Evaluator, Listener
from surefoot.training.evaluation import MAX_SIDE_BY_SIDE

RECALIBRATION = "recalibration"
"""The note in a checkpoint's manifest that holds the recalibration of its quantiles."""

AnyModel = TypeVar("AnyModel", bound="Model")


class Progress(NamedTuple):
    """How far training is: the argument of a callback."""

    model: "Model"
    step: int
    """Steps of training so far."""
    end: int
    """Step at which this training ends."""
    scalars: Scalars
    """What was logged at this step."""


Callback = Callable[[Progress], bool | None]
"""Called after each entry of the log; False ends the training."""


class Model(ModelInference):
    """An agent with its environment; `DQN`, `QRDQN`, `BootstrappedDQN` and `UADQN` are its subclasses."""

    agent_name: ClassVar[str | None] = None

    def __init__(
        self,
        env: Any,
        *,
        agent: str | None = None,
        network: Any = None,
        optimiser: Any = None,
        preset: str | None = None,
        normalise: Any = False,
        seed: Any = 0,
        env_kwargs: Mapping[str, Any] | None = None,
        driver: str = "auto",
        **settings: Any,
    ) -> None:
        """Make an untrained model.

        Args:
            env: A Gymnasium id, a Gymnasium environment, or an environment in JAX.
            agent: For `Model` itself: the name of an agent, or "package.module:KIND" for one of your own.
            network: "mlp:64,64", "minatar", "package.module:function", or a function of a key and a number
                of outputs that makes an Equinox module; by default what suits the observations.
            optimiser: An Optax transformation, or "package.module:name"; by default Adam.
            preset: The settings that are not given here: "control" or "minatar", by default what suits, or
                "calibrated", which changes what suits so that both uncertainties are right.
            normalise: Normalise vectors by their running mean and variance.
            seed: Seed of all random numbers: two models with the same seed train alike.
            env_kwargs: Keyword arguments of the environment, if it is named by an id.
            driver: "compiled" or "hosted"; "auto" compiles environments in JAX.
            settings: Settings of the agent, see its `Config`; among them for UA-DQN `risk="mean-sd:0.5"`,
                for which `risk_aversion=0.5` is short.
        """
        name = self.agent_name or agent
        if name is None:
            raise UserError(f"agent: not given, accepted: {AGENTS.accepted}")
        require("agent", agent, agent in {None, name}, f"{name} for {type(self).__name__}")
        handle = resolve_env(env, env_kwargs, driver)
        spec = resolve_spec(
            name,
            handle.gym.observation_space,
            handle.gym.action_space,
            network=network,
            optimiser=optimiser,
            preset=preset,
            settings=settings,
            env=handle.name,
            env_kwargs=handle.kwargs,
            env_is_object=handle.is_object,
            driver="hosted" if handle.jax is None else "compiled",
            normalise=normalise,
            seed=seed,
        )
        self._set_up(spec, network, optimiser, None)
        self._env = self._adapted(handle)

    # Training.

    def learn(
        self: AnyModel,
        total_timesteps: Any,
        *,
        env: EnvLike | None = None,
        out: str | Path | None = None,
        log_every: int = 1_000,
        eval_every: int | str | None = None,
        eval_episodes: int = 10,
        eval_env: EnvLike | None = None,
        checkpoint_every: int = 10_000,
        if_disk_full: str = "stop",
        probe: str | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        loggers: Sequence[Logger] = (),
        progress: bool = True,
    ) -> AnyModel:
        """Train for this many steps; called again, continue.

        Args:
            total_timesteps: How many, beyond those made before.
            env: Another environment to continue in, with the same spaces.
            out: A new directory for the run: log, checkpoints, best model.
            log_every: Steps between entries of the log.
            eval_every: Steps between evaluations; the best model is saved in `out`. "auto" evaluates as often
                as it costs about a tenth of the time, and at the end. None is never.
            eval_episodes: Episodes per evaluation.
            eval_env: Where to evaluate; by default another environment like the one of training.
            checkpoint_every: Steps between checkpoints in `out`; there is one every five minutes at least.
            if_disk_full: "stop", or "continue" without what could not be written.
            probe: "package.module:function", called with the model for each entry of the log; the numbers by
                name that it returns are logged with the others, also after `resume`.
            callbacks: One or several, called after each entry of the log; False ends training.
            loggers: Called with a step and its scalars, to send them elsewhere.
            progress: Show progress on standard error.
        """
        schedule = TrainingSchedule(
            steps=self._live_run.step + require_whole_number("total_timesteps", total_timesteps, 1),
            log_every=log_every,
            eval_every=eval_every,
            eval_episodes=eval_episodes,
            checkpoint_every=checkpoint_every,
            if_disk_full=if_disk_full,
            probe=probe,
            envs=self.spec.settings.envs,
        )
        self._enter(env)
        home = None if out is None else Path(out)
        with ExitStack() as stack:
            if home is not None:
                lock = directory.create(home, {**self.spec.as_json(), **asdict(schedule), **provenance()})
                stack.callback(lock.release)
                self._live_run.forget_best()  # A new run has a best model of its own.
            self._train(stack, schedule, home, eval_env, callbacks, loggers, progress=progress)
        return self

    def _train(
        self,
        stack: ExitStack,
        schedule: TrainingSchedule,
        home: Path | None,
        eval_env: EnvLike | None,
        callbacks: Callback | Sequence[Callback],
        loggers: Sequence[Logger],
        *,
        progress: bool,
    ) -> None:
        def listener(callback: Callback) -> Listener:
            return lambda step, scalars: callback(Progress(self, step, schedule.steps, scalars))

        evaluator = None
        if schedule.eval_every is not None:
            env = stack.enter_context(self.evaluation_env(eval_env))
            evaluator = Evaluator(
                lambda episodes, stop: self._play(env, episodes, stop),
                side_by_side=1 if env.jax is None else MAX_SIDE_BY_SIDE,
                seed=self.spec.seed,
            )
        probe = None if schedule.probe is None else resolve_probe(schedule.probe)
        training_loop.train(
            self._live_run,
            self.spec,
            schedule,
            home=home,
            evaluator=evaluator,
            probe=lambda: {} if probe is None else probe(self),
            listeners=[listener(each) for each in ((callbacks,) if callable(callbacks) else callbacks)],
            loggers=loggers,
            progress=progress,
        )

    def _enter(self, env: EnvLike | None) -> None:
        """Get ready to train in the environment given or in the model's own."""
        if env is not None:
            # A run continues with the driver that it began with.
            self._use(self._resolved(env))
        self._env = self._env or self._named_env()
        self._live_run.enter(self._env)
        if self.recalibration is not None:
            warnings.warn("the recalibration is dropped: it was fitted to what is trained on", stacklevel=3)
            self._set_recalibration(None)

    def _use(self, env: EnvHandle) -> None:
        """Train in this environment from now on; a run that is begun records it."""
        self._env = self._with_same_spaces(env)
        self.spec = replace(self.spec, env=env.name, env_kwargs=env.kwargs, env_is_object=env.is_object)

    # Saving and loading.

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model, with all that it needs to continue learning, into a new directory."""
        path = Path(path)
        if path.exists() and not overwrite:
            raise UserError(f"save: {path} exists already, accepted: a new directory, or overwrite=True")
        if path.exists():
            checkpoint.manifest_of(path)  # Only a checkpoint may be replaced.
        notes = {} if self.recalibration is None else {RECALIBRATION: self.recalibration.as_json()}
        self._live_run.save(path, self.spec, further_notes=notes)

    @classmethod
    def load(
        cls: type[AnyModel],
        path: str | Path,
        env: EnvLike | None = None,
        *,
        network: NetworkLike = None,
        optimiser: OptimiserLike = None,
        experience: bool = True,
    ) -> AnyModel:
        """A model that was saved, or the best one of a run (its last, if none was evaluated).

        The best one of a run has its networks only: `learn` begins again at step 0 with an empty replay. To
        continue the run itself, use `resume`.

        Args:
            path: What `save` wrote, a run's directory, or one of its checkpoints.
            env: Where to continue; by default the environment it was trained in, made when it is needed.
            network: The function that makes its network, if it was given as one.
            optimiser: Its Optax transformation, if it was given as one.
            experience: False leaves out the replay, for a model that only answers: it loads faster and takes
                less memory, and `learn` begins as with the best model of a run.
        """
        path = Path(path)
        if (path / directory.CONFIG).is_file():
            found = directory.model_checkpoint(path)
            if found is None:
                raise UserError(f"load: {path} is a run without checkpoints yet, accepted: one that has some")
            path = found
        checkpoint.recover(path)
        directory.require_model_directory(path)
        manifest = checkpoint.manifest_of(path)
        spec = ModelSpec.from_json(manifest.notes.get("model", {}))
        model = cls._untrained(spec, network, optimiser, path)
        model._live_run.load(path, manifest, experience=experience)
        if RECALIBRATION in manifest.notes:
            model._set_recalibration(Recalibration.from_json(manifest.notes[RECALIBRATION]))
        if env is not None:
            model._use(model._resolved(env))
        return model

    @classmethod
    def resume(
        cls: type[AnyModel],
        path: str | Path,
        steps: int | None = None,
        *,
        env: EnvLike | None = None,
        eval_env: EnvLike | None = None,
        network: NetworkLike = None,
        optimiser: OptimiserLike = None,
        callbacks: Callback | Sequence[Callback] = (),
        loggers: Sequence[Logger] = (),
        progress: bool = True,
    ) -> AnyModel:
        """Continue a run from its newest checkpoint, as if it had never been stopped.

        Args:
            path: The run's directory.
            steps: Steps in all, to train for longer than was planned.
            env: The environment, if it has no id to make it by.
            eval_env: Where to evaluate, likewise.
            network: The function that makes its network, if it was given as one.
            optimiser: Its Optax transformation, if it was given as one.
            callbacks: As in `learn`.
            loggers: As in `learn`.
            progress: Show progress on standard error.
        """
        with resumed_run(Path(path), steps) as run, ExitStack() as stack:
            model = cls._untrained(run.spec, network, optimiser, run.home)
            run.restore(model._live_run)
            if run.is_finished(model._live_run):
                return model
            model._enter(env)
            run.rewind(model._live_run, model.spec)
            model._train(stack, run.schedule, run.home, eval_env, callbacks, loggers, progress=progress)
        return model

    @classmethod
    def _untrained(
        cls: type[AnyModel], spec: ModelSpec, network: NetworkLike, optimiser: OptimiserLike, path: Path
    ) -> AnyModel:
        """An untrained model of the specification that lies at `path`, without its environment yet."""
        kind: Any = model_class(spec.agent)
        if not issubclass(kind, cls):
            raise UserError(f"load: {path} holds a {kind.__name__}, accepted: a {cls.__name__}")
        model = kind.__new__(kind)
        model._set_up(spec, network, optimiser, None)
        return model


def model_class(agent: str) -> type[Model]:
    """The class of models of an agent, given its name or "package.module:KIND"."""
    return MODELS[agent] if agent in MODELS else _make_class(agent, AGENTS.resolve(agent))


def _make_class(agent: str, kind: AgentKind) -> type[Model]:
    return type(kind.class_name, (Model,), {"agent_name": agent, "__doc__": kind.summary})


MODELS: dict[str, type[Model]] = {name: _make_class(name, kind) for name, kind in AGENTS.items()}
"""The classes of the built-in agents, by the agents' names."""

load = Model.load
resume = Model.resume
