"""Rollouts in environments in JAX: many episodes side by side, continued from states themselves.

Following the policy from a state is one job. Each lane of the program takes the next job when its own ends,
so that no lane waits for the longest episode.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from surefoot.envs.as_gymnasium import episode_key, key_at
from surefoot.jit import jit_for_speed, jit_for_startup
from surefoot.program_cache import cached_program
from surefoot.training.evaluation import MAX_EPISODE_STEPS
from surefoot.training.inference import Decision
from surefoot.training.step import tree_where
from surefoot.types import Environment

LANES = 256
"""Episodes that one program plays at once."""
STEPS_PER_CALL = 100
"""Steps between two reports of progress."""

Advance = Callable[[float], None]


class Kept(NamedTuple):
    """States of episodes, along the first axis: the environment's own, and what the agent sees."""

    env_state: PyTree
    obs: Any


class Lane(NamedTuple):
    """An episode under way, and the states kept of it so far."""

    env_state: PyTree
    obs: Array
    done: Array
    kept: Kept


class FollowLimits(NamedTuple):
    """How the policy is followed: discount and horizon, and the seed of what is random."""

    discount: float
    horizon: int
    seed: int


class Job(NamedTuple):
    """A continuation under way."""

    number: Array
    env_state: PyTree
    obs: Array
    ended: Array
    length: Array
    total: Array
    """Discounted rewards so far."""
    weight: Array
    """The weight of what follows; 0 after a termination."""
    one_step: Array
    """The first reward and the discounted value after it, once both are known."""


class Queue(NamedTuple):
    """The jobs under way, and the results of those that have ended; one more place takes what is not kept."""

    jobs: Job
    results: "Followed"


class Followed(NamedTuple):
    """What came of the jobs."""

    returns: Any
    """Discounted returns."""
    completed: Any
    """The weight of the believed value that completes a return; 0 where the episode ended."""
    one_step: Any
    """The first reward and the discounted value that is believed after it."""


def visit(
    decision: Decision,
    params: PyTree,
    numbers: tuple[Any, ...],
    environment: Environment,
    seeds: Sequence[int],
    slots: int,
    advance: Advance,
) -> Kept:
    """Play an episode for each seed and keep states of it, `[episodes x slots, ...]`."""
    reset, play = _visit_programs(decision, environment, slots)
    keys = np.stack([episode_key(seed) for seed in seeds])
    lanes, time, ended = reset(keys), 0, 0
    while ended < len(seeds) and time < MAX_EPISODE_STEPS:
        until = min(time + STEPS_PER_CALL, MAX_EPISODE_STEPS)
        lanes = play(params, lanes, keys, numbers, np.int32(time), np.int32(until))
        before, time, ended = ended, until, int(np.sum(np.asarray(lanes.done)))
        advance((ended - before) / len(seeds))
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), lanes.kept)


KEPT_KEY = 1
"""Sets the keys that draw states apart from those of the environment."""


@cached_program
def _visit_programs(decision: Decision, environment: Environment, slots: int) -> Any:
    def reset(env_key: Array) -> Lane:
        env_state, obs = environment.reset(key_at(env_key, 0))
        kept = jax.tree.map(lambda leaf: jnp.stack([leaf] * slots), Kept(env_state, obs))
        return Lane(env_state, obs, jnp.zeros((), bool), kept)

    def step(params: PyTree, lane: Lane, env_key: Array, numbers: Any, time: Any) -> Lane:
        draw_key, act_key = jax.random.split(jax.random.fold_in(key_at(env_key, time), KEPT_KEY))
        # Each slot takes the step at time t with probability 1 / (t + 1): so it draws from all steps alike.
        takes = jax.random.uniform(draw_key, (slots,)) * (time + 1).astype(float) < 1
        kept = jax.vmap(lambda take, old: tree_where(take, Kept(lane.env_state, lane.obs), old))(
            takes, lane.kept
        )
        action = decision(params, lane.obs, act_key, numbers)[1]
        found = environment.step(lane.env_state, action, key_at(env_key, time + 1))
        after = Lane(found.state, found.obs, found.terminated | found.truncated, kept)
        return tree_where(lane.done, lane, after)

    step_all = jax.vmap(step, in_axes=(None, 0, 0, None, None))

    def play(params: PyTree, lanes: Lane, env_keys: Array, numbers: Any, time: Any, until: Any) -> Lane:
        def goes_on(carry: tuple[Any, Lane]) -> Any:
            return (carry[0] < until) & ~jnp.all(carry[1].done)

        def one_step(carry: tuple[Any, Lane]) -> tuple[Any, Lane]:
            return carry[0] + 1, step_all(params, carry[1], env_keys, numbers, carry[0])

        return jax.lax.while_loop(goes_on, one_step, (time, lanes))[1]

    return jit_for_startup(jax.vmap(reset)), jit_for_speed(play)


def follow(
    decision: Decision,
    params: PyTree,
    numbers: tuple[Any, ...],
    environment: Environment,
    states: Kept,
    continuations: int,
    limits: FollowLimits,
    advance: Advance,
) -> Followed:
    """What comes of following the policy from each state, `[states, continuations]`."""
    count = len(states.obs) * continuations
    lanes = min(LANES, count)
    start, run = _follow_programs(decision, environment, lanes, continuations)
    key = np.asarray(jax.random.key_data(jax.random.fold_in(jax.random.key(limits.seed), KEPT_KEY)))
    precision = jax.dtypes.canonicalize_dtype(float)
    bounds = np.asarray(limits.discount, precision), np.int32(limits.horizon)
    queue, ended = start(states), 0
    while np.any(np.asarray(queue.jobs.number) < count):
        queue = run(params, queue, states, key, numbers, bounds)
        before, ended = ended, int(np.isfinite(np.asarray(queue.results.returns)[:count]).sum())
        advance((ended - before) / count)
    return Followed(*(np.asarray(each, float)[:count].reshape(-1, continuations) for each in queue.results))


@cached_program
def _follow_programs(decision: Decision, environment: Environment, lanes: int, continuations: int) -> Any:
    def begin(states: Kept, number: Any) -> Job:
        last = jax.tree.leaves(states)[0].shape[0] - 1
        place = jnp.minimum(number // continuations, last)
        chosen: Kept = jax.tree.map(lambda leaf: leaf[place], states)
        zero = jnp.zeros((), float)
        return Job(
            number, *chosen, jnp.zeros((), bool), jnp.zeros((), jnp.int32), zero, jnp.ones_like(zero), zero
        )

    def start(states: Kept) -> Queue:
        jobs = jax.vmap(lambda number: begin(states, number))(jnp.arange(lanes, dtype=jnp.int32))
        empty = jnp.full(jax.tree.leaves(states)[0].shape[0] * continuations + 1, jnp.nan)
        return Queue(jobs, Followed(empty, empty, empty))

    def step(params: PyTree, job: Job, states: Kept, key: Array, numbers: Any, bounds: Any) -> Any:
        """One step of a job, or, if it has ended, its result and the beginning of the next job."""
        discount, horizon = bounds
        job_key = jax.random.fold_in(jax.random.wrap_key_data(key), job.number)
        act_key, env_key = jax.random.split(jax.random.fold_in(job_key, job.length))
        beliefs, action, *_ = decision(params, job.obs, act_key, numbers)
        result = job.total + job.weight * beliefs.mean[action].astype(job.total.dtype)
        one_step = jnp.where(job.length == 1, result, job.one_step)
        found = environment.step(job.env_state, action, env_key)
        weight = job.weight * discount
        after = Job(
            job.number,
            found.state,
            found.obs,
            found.terminated | found.truncated | (job.length + 1 >= horizon),
            job.length + 1,
            job.total + job.weight * found.reward.astype(job.total.dtype),
            jnp.where(found.terminated, jnp.zeros_like(weight), weight),
            one_step,
        )
        ended = Followed(result, job.weight, one_step)
        return tree_where(job.ended, begin(states, job.number + lanes), after), ended

    step_all = jax.vmap(step, in_axes=(None, 0, None, None, None, None))

    def run(params: PyTree, queue: Queue, states: Kept, key: Array, numbers: Any, bounds: Any) -> Queue:
        nowhere = queue.results.returns.shape[0] - 1

        def goes_on(carry: tuple[Any, Queue]) -> Any:
            return (carry[0] < STEPS_PER_CALL) & jnp.any(carry[1].jobs.number < nowhere)

        def one_step(carry: tuple[Any, Queue]) -> tuple[Any, Queue]:
            jobs = carry[1].jobs
            after, ended = step_all(params, jobs, states, key, numbers, bounds)
            places = jnp.where(jobs.ended, jnp.minimum(jobs.number, nowhere), nowhere)
            results = jax.tree.map(lambda all_, new: all_.at[places].set(new), carry[1].results, ended)
            return carry[0] + 1, Queue(after, results)

        return jax.lax.while_loop(goes_on, one_step, (jnp.zeros((), jnp.int32), queue))[1]

    return jit_for_startup(start), jit_for_speed(run)
