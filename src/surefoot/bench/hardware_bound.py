"""What this core could do at best: the products of one step at its speed, and the bytes that Adam moves."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from surefoot.bench.timing import Contender, Speed
from surefoot.bench.surefoot_agents import GAME, agent_of, settings
from surefoot.envs import minatar
from surefoot.types import Transition

SIDE = 768
"""Of the matrices by which sgemm is measured."""
ELEMENTS = 2**21
"""Of each of the three arrays by which memory is measured: together 25 MB, beyond the caches of a core."""
PRODUCTS, MEMORY = "sgemm", "memory"
WORD = 4
"""Bytes of a number."""


class Work(NamedTuple):
    """What one step of learning cannot do without."""

    multiply_adds: int
    adam_bytes: int

    def seconds(self, speeds: dict[str, Speed]) -> float:
        """At the speeds that the core reached."""
        flops, memory = rates(speeds)
        return 2 * self.multiply_adds / flops + self.adam_bytes / memory


def rates(speeds: dict[str, Speed]) -> tuple[float, float]:
    """What the core reached: operations per second in products, bytes per second in memory."""
    flops = speeds[PRODUCTS].steps_per_second * 2 * SIDE**3
    return flops, speeds[MEMORY].steps_per_second * 3 * ELEMENTS * WORD


def contenders() -> list[Contender]:
    """The core's own speed: products of matrices, and sums of arrays."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((SIDE, SIDE), np.float32) for _ in range(2))
    x, y = (rng.random(ELEMENTS, np.float32) for _ in range(2))
    product, total = np.empty_like(a), np.empty_like(x)

    def repeated(call: Callable[[], Any]) -> Callable[[int], None]:
        def make_steps(count: int) -> None:
            for _ in range(count):
                call()

        return make_steps

    return [
        Contender(PRODUCTS, repeated(lambda: np.matmul(a, b, out=product))),
        Contender(MEMORY, repeated(lambda: np.add(x, y, out=total))),
    ]


def work_of(name: str) -> Work:
    """One step of an agent on MinAtar: the products of acting and of an update, and Adam's traffic."""
    environment, config = minatar.make(GAME), settings(name)
    agent = agent_of(name, config, environment)
    key = jax.random.key(0)
    learner = jax.eval_shape(agent.init, key)
    obs = jax.ShapeDtypeStruct(environment.observation_space.shape, bool)
    batch = _batch(obs, config.batch_size)
    acting = jax.make_jaxpr(agent.beliefs)(learner.params, obs, key)
    updating = jax.make_jaxpr(agent.update)(learner, batch, jnp.ones(()), key)
    weights = sum(leaf.size for leaf in jax.tree.leaves(learner.optimiser.mean))
    anchors = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(learner.prior, _is_large)))
    # Read: gradient, weight, both moments, the anchor if there is one. Written: weight and moments.
    return Work(
        multiply_adds(acting.jaxpr) + multiply_adds(updating.jaxpr),
        WORD * (7 * weights + anchors),
    )


def _is_large(leaf: Any) -> bool:
    return getattr(leaf, "ndim", 0) > 0


def _batch(obs: Any, size: int) -> Any:
    def many(shape: tuple[int, ...], dtype: Any) -> Any:
        return jax.ShapeDtypeStruct((size, *shape), dtype)

    pictures = many(obs.shape, obs.dtype)
    return Transition(pictures, many((), jnp.int32), many((), jnp.float32), many((), bool), pictures)


def multiply_adds(jaxpr: Any) -> int:
    """Multiplications in all products of matrices, also in programs within."""
    found = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            depth = int(np.prod([shape[axis] for axis in contracted]))
            found += depth * int(np.prod(equation.outvars[0].aval.shape))
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program):
            if _is_program(inner):
                found += multiply_adds(getattr(inner, "jaxpr", inner))
    return found


def _is_program(thing: Any) -> bool:
    return hasattr(thing, "eqns") or hasattr(thing, "jaxpr")
