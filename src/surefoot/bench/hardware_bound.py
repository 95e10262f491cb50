"""An upper bound of the speed on this core: time for the matrix products of a step and for Adam's memory."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from surefoot.bench.surefoot_agents import GAME, agent_settings, make_agent
from surefoot.bench.timing import Contender, Speed
from surefoot.envs import minatar
from surefoot.types import Transition

MATRIX_SIDE = 768
"""Rows and columns of the matrices by whose product sgemm is measured."""
ARRAY_ELEMENTS = 2**21
"""Elements of each of the three arrays by which memory is measured: 25 MB in all, more than a core caches."""
PRODUCTS, MEMORY = "sgemm", "memory"
"""Names of the two measurements of the core."""
FLOAT_BYTES = 4


class Work(NamedTuple):
    """The least work of one step of learning: multiplications, and bytes that Adam reads and writes."""

    multiply_adds: int
    adam_bytes: int

    def seconds(self, speeds: dict[str, Speed]) -> float:
        """Seconds that the work takes at the measured speeds of the core."""
        flops, memory = rates(speeds)
        return 2 * self.multiply_adds / flops + self.adam_bytes / memory


def rates(speeds: dict[str, Speed]) -> tuple[float, float]:
    """The measured speeds of the core: floating-point operations and bytes of memory per second."""
    flops = speeds[PRODUCTS].steps_per_second * 2 * MATRIX_SIDE**3
    return flops, speeds[MEMORY].steps_per_second * 3 * ARRAY_ELEMENTS * FLOAT_BYTES


def contenders() -> list[Contender]:
    """The measurements of the core: products of matrices, and sums of arrays."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((MATRIX_SIDE, MATRIX_SIDE), np.float32) for _ in range(2))
    x, y = (rng.random(ARRAY_ELEMENTS, np.float32) for _ in range(2))
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
    """The work of one step of an agent on MinAtar: choosing an action, and one update."""
    environment, config = minatar.make(GAME), agent_settings(name)
    agent = make_agent(name, config, environment)
    key = jax.random.key(0)
    learner = jax.eval_shape(agent.init, key)
    obs = jax.ShapeDtypeStruct(environment.observation_space.shape, bool)
    batch = _batch(obs, config.batch_size)
    acting = jax.make_jaxpr(agent.beliefs)(learner.params, obs, key)
    updating = jax.make_jaxpr(agent.update)(learner, batch, jnp.ones(()), key)
    weights = sum(leaf.size for leaf in jax.tree.leaves(learner.optimiser.mean))
    anchors = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(learner.prior, _is_large)))
    # Adam reads the gradient, the weight, both moments and the anchor, if any; it writes weight and moments.
    return Work(
        multiply_adds(acting.jaxpr) + multiply_adds(updating.jaxpr),
        FLOAT_BYTES * (7 * weights + anchors),
    )


def _is_large(leaf: Any) -> bool:
    return getattr(leaf, "ndim", 0) > 0


def _batch(obs: Any, size: int) -> Any:
    def many(shape: tuple[int, ...], dtype: Any) -> Any:
        return jax.ShapeDtypeStruct((size, *shape), dtype)

    images = many(obs.shape, obs.dtype)
    return Transition(images, many((), jnp.int32), many((), jnp.float32), many((), bool), images)


def multiply_adds(jaxpr: Any) -> int:
    """Multiplications in all matrix products of a program, including nested programs."""
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


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")
