"""The contracts between the layers: what an environment, an agent, a posterior, a policy must provide."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, Shaped

from surefoot.strips import beliefs_html

RandomKey = Key[Array, ""]
RandomKeys = Key[Array, "K"]
Scalar = Float[Array, ""]
Interval = tuple[float, float]

Network = eqx.Module
"""Any Equinox module that maps one example, without a batch axis, to an array of outputs."""

MakeNetwork = Callable[[RandomKey], Network]
"""Draws a fresh network: its architecture and the distribution of its initial weights."""

ObservationSpace = Box | Discrete
"""The observation spaces that agents learn from."""


class NetworkFactory(NamedTuple):
    """Makes networks of one architecture and output shape: `networks(gain=..., dropout=...)`.

    Weights are orthogonal times `gain`. With dropout, networks are called with a key: `network(x, key=key)`.

    - `make(gain=..., dropout=...)`: a maker of networks.
    - `encode(x)`: an input as a vector of floats, for small networks that a posterior adds.
    - `example`: shape and type of an input.
    - `output_shape`: shape of the outputs.
    """

    make: Callable[..., MakeNetwork]
    encode: Callable[[Array], Float[Array, "inputs"]]
    example: jax.ShapeDtypeStruct
    output_shape: tuple[int, ...]

    def __call__(self, *, gain: float, dropout: float = 0.0) -> MakeNetwork:
        """A maker of networks."""
        return self.make(gain=gain, dropout=dropout)


class Draws(NamedTuple):
    """K samples from the posterior over networks, as their method stores them.

    `params` is what training changes. `prior` is what a penalty compares it with (anchors, for instance);
    training does not change it.
    """

    params: PyTree
    prior: PyTree


class Posterior(NamedTuple):
    """A way of sampling networks from the posterior, as three pure functions.

    A method that trains K networks (randomised MAP sampling, a plain ensemble) stores K of them in `params`.
    A method that trains one network and samples from it at each prediction (dropout, variational weights)
    stores one and uses the keys. Callers do not see the difference.

    - `draws`: the number of samples, K.
    - `init(key)`: fresh draws.
    - `penalty(params, prior, data_count, keys)`: what each draw adds to its mean loss over the data, `[K]`.
    - `predict(params, inputs, keys)`: outputs of each draw, `[B, ...]` in, `[K, B, ...]` out.

    Both take one key per draw: equal keys mean the same draws.
    """

    draws: int
    init: Callable[[RandomKey], Draws]
    penalty: Callable[[PyTree, PyTree, Any, RandomKeys], Float[Array, "K"]]
    predict: Callable[[PyTree, Array, RandomKeys], Float[Array, "K B ..."]]


class PosteriorKind(NamedTuple):
    """An entry of the registry of posteriors.

    - `config`: its settings class.
    - `make(config, networks, draws)`: the posterior over networks that `networks` makes.
    """

    config: type
    make: Callable[[Any, NetworkFactory, int], Posterior]


class Transition(NamedTuple):
    """One step of an environment, or a batch of them.

    Only `terminated` stops the bootstrap: a time limit ends an episode, not the return.
    """

    obs: Shaped[Array, "*obs"]
    action: Int[Array, "*batch"]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    next_obs: Shaped[Array, "*obs"]


class Beliefs(NamedTuple):
    """What an agent believes about the return of each action: all that policies and figures read.

    What an agent cannot estimate is None. Variances are raw: unbiased ones may be negative.
    """

    mean: Float[Array, "*batch A"]
    epistemic_variance: Float[Array, "*batch A"] | None = None
    aleatoric_variance: Float[Array, "*batch A"] | None = None
    quantiles: Float[Array, "*batch A N"] | None = None
    """Quantiles of the value network's return distribution, recalibrated if the model was."""
    members: Float[Array, "*batch K A"] | None = None
    """Mean return according to each draw from the posterior: each head, or each auxiliary network."""
    budget: Float[Array, "*batch"] | None = None
    """Where an agent plans for the CVaR of whole episodes: the return that is still to come of its goal."""
    raw_quantiles: Float[Array, "*batch A N"] | None = None
    """The quantiles as they were learned, if `quantiles` are recalibrated; otherwise None."""

    @property
    def is_recalibrated(self) -> bool:
        """Whether `quantiles` are recalibrated, so that their intervals cover what they say."""
        return self.raw_quantiles is not None

    @property
    def epistemic(self) -> Float[Array, "*batch A"] | None:
        """Epistemic standard deviation, in units of return."""
        return _standard_deviation(self.epistemic_variance)

    @property
    def aleatoric(self) -> Float[Array, "*batch A"] | None:
        """Aleatoric standard deviation, in units of return."""
        return _standard_deviation(self.aleatoric_variance)

    def _repr_html_(self) -> str:
        """What a notebook shows: a strip for each action."""
        return beliefs_html(self.mean, self.epistemic, self.aleatoric, self.quantiles)


def _standard_deviation(variance: Float[Array, "*batch A"] | None) -> Float[Array, "*batch A"] | None:
    return None if variance is None else jnp.sqrt(jnp.maximum(variance, 0))


Action = Int[Array, ""]

Policy = Callable[[Beliefs, RandomKey, RandomKey, Any], Action]
"""From beliefs, a key for this step, a key for this episode and the number of the step to an action."""


RiskMeasure = Callable[[Beliefs], Float[Array, "*batch A"]]
"""An attitude to risk: from beliefs to one number per action, of which the highest is chosen."""


def mean_return(beliefs: Beliefs) -> Float[Array, "*batch A"]:
    """The value of each action to an agent without an attitude to risk."""
    return beliefs.mean


ChooseKey = Callable[[RandomKey, RandomKey], RandomKey]
"""Of the keys of this step and of this episode, the one that is used."""


def key_of_step(step_key: RandomKey, episode_key: RandomKey) -> RandomKey:
    """The key of this step."""
    del episode_key
    return step_key


def key_of_episode(step_key: RandomKey, episode_key: RandomKey) -> RandomKey:
    """The key of this episode."""
    del step_key
    return episode_key


class ExplorerKind(NamedTuple):
    """An entry of the registry of explorers.

    - `config`: its settings class.
    - `make(config, risk)`: the policy while learning. `config` is the settings of the whole agent, its
      `exploration` (beta) and `learning_starts` among them.
    - `draw_key`: the key with which networks are sampled from the posterior while exploring: that of the
      step, or that of the episode for a policy that follows one sample.
    """

    config: type
    make: Callable[[Any, RiskMeasure], Policy]
    draw_key: ChooseKey = key_of_step


class Learner(NamedTuple):
    """Everything of an agent that training changes, and the prior, which it does not."""

    params: PyTree
    target: PyTree
    """The target networks: a copy of some of `params`, renewed every so many steps."""
    prior: PyTree
    optimiser: PyTree


class Agent(NamedTuple):
    """An agent as pure functions: state in, state out.

    - `init(key)`: a fresh learner.
    - `observe(learner, obs)`: takes in an observation that is acted on (for running normalisation).
    - `update(learner, batch, data_count, key)`: one optimiser step on a batch.
    - `loss(learner, batch, data_count, key)`: the loss that such a step lowers, for the log.
    - `renew_target(learner)`: copies the networks to the target networks.
    - `beliefs(params, obs, key)`: what it believes, given one observation.
    - `explore`: its policy while learning; `exploit`: its policy afterwards.
    - `draw_key`: which key its beliefs are drawn with while exploring.
    - `value`: what each action is worth to it, by its own attitude to risk.
    - `has_budget`: whether the last number of its observations is the budget of `envs/budget.py`.
    """

    init: Callable[[RandomKey], Learner]
    observe: Callable[[Learner, Array], Learner]
    update: Callable[[Learner, Transition, Any, RandomKey], Learner]
    loss: Callable[[Learner, Transition, Any, RandomKey], Scalar]
    renew_target: Callable[[Learner], Learner]
    beliefs: Callable[[PyTree, Array, RandomKey], Beliefs]
    explore: Policy
    exploit: Policy
    draw_key: ChooseKey = key_of_step
    value: RiskMeasure = mean_return
    has_budget: bool = False


class EnvironmentStep(NamedTuple):
    """What an environment in JAX returns for an action."""

    state: PyTree
    obs: Shaped[Array, "*obs"]
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    info: dict[str, Array]
    """Numbers about this step, the same names at every step."""


class Environment(NamedTuple):
    """An environment in JAX, as two pure functions and its spaces.

    - `reset(key)`: first state and observation of an episode.
    - `step(state, action, key)`: what follows. After the end of an episode comes a reset.
    """

    reset: Callable[[RandomKey], tuple[PyTree, Array]]
    step: Callable[[PyTree, Action, RandomKey], EnvironmentStep]
    observation_space: Box
    action_space: Discrete
