"""The friendly object: an agent, its environment and its experience, to train, ask, save and load."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from numpy.typing import NDArray

from surefoot.envs.hosting import CheckedEnvironment
from surefoot.envs.place import AnyEnvironment, Place, another_like, place_of
from surefoot.risk import aversion_of, risk_aversion_of
from surefoot.runs import checkpoint, directory
from surefoot.runs.blueprint import AnyNetwork, Blueprint, build, draw_up
from surefoot.runs.display import Display
from surefoot.runs.log import Logger, Scalars
from surefoot.runs.plan import Plan
from surefoot.runs.probes import probe_of
from surefoot.runs.provenance import provenance
from surefoot.runs.recorder import Recorder
from surefoot.runs.reopening import reopened
from surefoot.runs.session import Listener, Session
from surefoot.runs.signals import pass_on, stop_in_order
from surefoot.runs.trainer import Trainer
from surefoot.training import evaluation
from surefoot.training.asking import Adviser
from surefoot.training.evaluation import Evaluation
from surefoot.training.seeds import Stream
from surefoot.types import Beliefs, UserError, whole_number, words

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
        env: Any,
        *,
        network: AnyNetwork = None,
        preset: str | None = None,
        normalise: bool = False,
        seed: Any = 0,
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
            env_is_object=place.is_object,
            driver="hosted" if place.inside is None else "compiled",
            normalise=normalise,
            seed=whole_number("seed", seed),
        )
        self._set_up(blueprint, network, place)

    def _set_up(self, blueprint: Blueprint, network: AnyNetwork, place: Place | None) -> None:
        agent = build(blueprint, network)
        self.blueprint = blueprint
        self.settings = blueprint.settings
        self.observation_space, self.action_space = blueprint.observation_space, blueprint.action_space
        self._place = place
        self._trainer = Trainer(agent, blueprint)
        self._adviser = Adviser(agent, self.observation_space, self.action_space, blueprint.seed)

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
        aversion, params = aversion_of(risk_aversion, risk), self._trainer.learner.params
        if deterministic:
            return self._adviser.best_actions(params, observation, aversion), state
        if aversion is not None:
            raise UserError("risk_aversion: exploring follows the model's own, accepted: deterministic=True")
        return self._adviser.exploring_actions(params, observation, self.num_timesteps), state

    def beliefs(self, observation: Any) -> Beliefs:
        """What the agent thinks of each action, given one observation or a batch of them."""
        return self._adviser.beliefs(self._trainer.learner.params, observation)

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
        episodes = whole_number("episodes", episodes, 1)
        chance = self.blueprint.seed if seed is None else seed
        act = self._actor(aversion_of(risk_aversion, risk))
        with self._judge(env) as judge:
            found = evaluation.evaluate(
                act, judge, episodes, chance, Stream.TEST, after_episode=after_episode
            )
        assert found is not None
        return found

    def _actor(self, risk_aversion: float | None = None) -> Callable[[NDArray[Any]], int]:
        """From one observation to an action, for a model that does not change meanwhile."""
        return self._adviser.actor(self._trainer.learner.params, self.num_timesteps, risk_aversion)

    # Learning.

    def learn(
        self: AModel,
        total_timesteps: Any,
        *,
        env: AnyEnvironment | None = None,
        out: str | Path | None = None,
        log_every: int = 1_000,
        eval_every: int | None = None,
        eval_episodes: int = 10,
        eval_env: AnyEnvironment | None = None,
        checkpoint_every: int = 10_000,
        if_disk_full: str = "stop",
        probe: str | None = None,
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
            checkpoint_every: Steps between checkpoints in `out`; there is one every few minutes at least.
            if_disk_full: "stop", or "continue" without what could not be written.
            probe: "package.module:function", called with the model for each entry of the log; the numbers by
                name that it returns are logged beside the others, after a `resume` too.
            callbacks: One or several, called after each entry of the log; False ends training.
            loggers: Called with a step and its scalars, to send them elsewhere.
            progress: Show progress on standard error.
        """
        plan = Plan(
            steps=self.num_timesteps + whole_number("total_timesteps", total_timesteps, 1),
            log_every=log_every,
            eval_every=eval_every,
            eval_episodes=eval_episodes,
            checkpoint_every=checkpoint_every,
            if_disk_full=if_disk_full,
            probe=probe,
        )
        self._enter(env)
        home = None if out is None else Path(out)
        with ExitStack() as stack:
            judge = None if eval_every is None else stack.enter_context(self._judge(eval_env))
            if home is not None:
                lock = directory.create(home, {**self.blueprint.as_json(), **asdict(plan), **provenance()})
                stack.callback(lock.release)
                self._trainer.best = None  # A new run has a best of its own.
            self._train(plan, home, judge, callbacks, loggers, progress=progress)
        return self

    def _train(
        self,
        plan: Plan,
        home: Path | None,
        judge: CheckedEnvironment | None,
        callbacks: Callback | Sequence[Callback],
        loggers: Sequence[Logger],
        *,
        progress: bool,
    ) -> None:
        """Carry out a plan; what stops it early is raised after everything is in order."""
        trainer = self._trainer
        look: Callable[[Any], Scalars] = (lambda _: {}) if plan.probe is None else probe_of(plan.probe)

        def listener(callback: Callback) -> Listener:
            return lambda step, scalars: callback(Progress(self, step, plan.steps, scalars))

        title = f"{self.blueprint.env} {self.blueprint.agent}"
        display = Display(title, trainer.step, plan.steps, on=progress)
        patient = plan.if_disk_full == "continue"
        with (
            stop_in_order() as request,
            Recorder(home, loggers, display, trainer.step, patient=patient) as recorder,
        ):
            session = Session(
                trainer,
                self.blueprint,
                plan,
                recorder,
                home=home,
                judge=judge,
                actor=self._actor,
                look=lambda: look(self),
                listeners=[listener(each) for each in ((callbacks,) if callable(callbacks) else callbacks)],
            )
            fault = session.run(request)
        if fault is not None:
            raise fault
        pass_on(request)

    def _enter(self, env: AnyEnvironment | None) -> Trainer:
        """The trainer, in the environment given or in the model's own."""
        if env is not None:
            # A run goes on with the driver that it began with.
            self._place = self._require_same_spaces(place_of(env, driver=self.blueprint.driver))
        elif self._place is None:
            self._place = self._named_place()
        self._trainer.enter(self._place)
        return self._trainer

    @contextmanager
    def _judge(self, env: AnyEnvironment | None) -> Generator[CheckedEnvironment]:
        """Where to evaluate, apart from where the model learns; closed after it, unless it was given."""
        if env is not None:
            place = self._require_same_spaces(place_of(env))
        else:
            place = self._named_place() if self._place is None else another_like(self._place)
        try:
            yield place.outside
        finally:
            if env is None or not place.is_object:
                place.outside.close()

    def _named_place(self) -> Place:
        """The environment that a loaded model was trained in, by its name."""
        named = self.blueprint
        if named.env_is_object:
            raise UserError(f"env: {named.env} was given as an object, accepted: give it again (env=...)")
        return self._require_same_spaces(place_of(named.env, named.env_kwargs, named.driver))

    def _require_same_spaces(self, place: Place) -> Place:
        for name in ("observation_space", "action_space"):
            mine, other = getattr(self, name), getattr(place.outside, name)
            if mine != other:
                raise UserError(f"env: {place.name} has {name} {words(other)}, accepted: {words(mine)}")
        return place

    # On disk.

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model, with all that it needs to go on learning, into a new directory."""
        path = Path(path)
        if path.exists() and not overwrite:
            raise UserError(f"save: {path} exists already, accepted: a new directory, or overwrite=True")
        if path.exists():
            checkpoint.manifest_of(path)  # Whatever else is there is not ours to replace.
        self._trainer.save(path, self.blueprint)

    @classmethod
    def load(
        cls: type[AModel],
        path: str | Path,
        env: AnyEnvironment | None = None,
        *,
        network: AnyNetwork = None,
    ) -> AModel:
        """A model that was saved, or the best one of a run (its last, where none was evaluated).

        The best one of a run has its networks only: learning goes on from step 0 with an empty replay. The
        run itself goes on with `resume`.

        Args:
            path: What `save` wrote, a run's directory, or one of its checkpoints.
            env: Where to go on; by default the environment it was trained in, made when it is needed.
            network: The function that makes its network, where that is a user's own.
        """
        path = Path(path)
        if (path / directory.CONFIG).is_file():
            found = directory.model_checkpoint(path)
            if found is None:
                raise UserError(f"load: {path} is a run without checkpoints yet, accepted: one that has some")
            path = found
        checkpoint.recover(path)
        if not path.is_dir():
            raise UserError(f"load: got {path}, accepted: a directory that save or train wrote")
        manifest = checkpoint.manifest_of(path)
        model = cls._built(Blueprint.from_json(manifest.notes.get("model", {})), network, path)
        model._trainer.load(path, manifest)
        if env is not None:
            place = place_of(env, driver=model.blueprint.driver)
            model._place = model._require_same_spaces(place)
        return model

    @classmethod
    def resume(
        cls: type[AModel],
        path: str | Path,
        steps: int | None = None,
        *,
        env: AnyEnvironment | None = None,
        eval_env: AnyEnvironment | None = None,
        network: AnyNetwork = None,
        callbacks: Callback | Sequence[Callback] = (),
        loggers: Sequence[Logger] = (),
        progress: bool = True,
    ) -> AModel:
        """Go on with a run from its newest checkpoint, as if it had never been stopped.

        Args:
            path: The run's directory.
            steps: Steps in all, where it is to go on for longer than it was meant to.
            env: The environment, where it has no id to make it by.
            eval_env: Where to evaluate, likewise.
            network: The function that makes its network, where that is a user's own.
            callbacks: As in `learn`.
            loggers: As in `learn`.
            progress: Show progress on standard error.
        """
        with reopened(Path(path), steps) as run, ExitStack() as stack:
            model = cls._built(run.blueprint, network, run.home)
            run.restore(model._trainer)
            if run.is_over(model.num_timesteps):
                return model
            model._enter(env)
            run.make_ready(model.num_timesteps)
            judge = None if run.plan.eval_every is None else stack.enter_context(model._judge(eval_env))
            model._train(run.plan, run.home, judge, callbacks, loggers, progress=progress)
        return model

    @classmethod
    def _built(cls: type[AModel], blueprint: Blueprint, network: AnyNetwork, path: Path) -> AModel:
        """An untrained model of the kind that lies at `path`, without its environment yet."""
        kind = MODELS[blueprint.agent]
        if not issubclass(kind, cls):
            raise UserError(f"load: {path} holds a {kind.__name__}, accepted: a {cls.__name__}")
        model = kind.__new__(kind)
        model._set_up(blueprint, network, None)
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

load = Model.load
resume = Model.resume
