"""An upper bound of the speed on this core: time for the matrix products of a step and for Adam's memory.

Weights, moments, gradients and anchors are as large as the caches of a core, so the speed of memory is
measured with arrays of their size, for each agent: main memory alone would be slower than what Adam finds.
"""

from collections.abc import Callable, Iterable
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
"""Rows and columns of the matrices by whose product the speed of products is measured."""
PRODUCTS = "product in NumPy", "product in XLA"
"""Names of the measurements of matrix products: which library is faster depends on the machine."""
FLOAT_BYTES = 4


class Work(NamedTuple):
    """The least work of one step of learning."""

    multiply_adds: int
    """Multiplications in matrix products."""
    adam_bytes: int
    """Bytes that Adam reads and writes."""
    array_bytes: int
    """Bytes of the arrays that it reads and writes: weights, gradients, both moments, and anchors."""

    @property
    def memory(self) -> str:
        """Name of the measurement of memory with arrays of this size."""
        return f"memory, {self.array_bytes / 1e6:.1f} MB"

    def seconds(self, speeds: dict[str, Speed]) -> float:
        """Seconds that the work takes at the measured speeds of the core."""
        return 2 * self.multiply_adds / flop_rate(speeds) + self.adam_bytes / self.byte_rate(speeds)

    def byte_rate(self, speeds: dict[str, Speed]) -> float:
        """Measured bytes per second, read and written, in arrays of this size."""
        return speeds[self.memory].steps_per_second * self.array_bytes


def flop_rate(speeds: dict[str, Speed]) -> float:
    """Floating-point operations per second in the faster of both libraries."""
    return max(speeds[name].steps_per_second for name in PRODUCTS) * 2 * MATRIX_SIDE**3


def contenders(works: Iterable[Work]) -> list[Contender]:
    """The measurements of the core: products of matrices, and sums of arrays of each agent's size."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((MATRIX_SIDE, MATRIX_SIDE), np.float32) for _ in range(2))
    product = np.empty_like(a)
    on_device = jnp.asarray(a), jnp.asarray(b)
    product_in_xla = jax.jit(jnp.matmul)

    def repeated(call: Callable[[], Any]) -> Callable[[int], None]:
        def make_steps(count: int) -> None:
            for _ in range(count):
                call()

        return make_steps

    def memory(work: Work) -> Contender:
        # Ones: zeros would be one page of memory that stands for all.
        x, y, total = (np.ones(work.array_bytes // (3 * FLOAT_BYTES), np.float32) for _ in range(3))
        return Contender(work.memory, repeated(lambda: np.add(x, y, out=total)))

    of_each_size = {work.memory: work for work in works}.values()
    in_numpy = repeated(lambda: np.matmul(a, b, out=product))
    in_xla = repeated(lambda: jax.block_until_ready(product_in_xla(*on_device)))
    return [*map(Contender, PRODUCTS, (in_numpy, in_xla)), *map(memory, of_each_size)]


def work_of(name: str) -> Work:
    """The work of one step of an agent on MinAtar: choosing an action, and one update."""
    environment, config = minatar.make(GAME), agent_settings(name)
    agent = make_agent(name, config, environment)
    key = jax.random.key(0)
    learner = jax.eval_shape(agent.init, key)
    # Of floats: patches of booleans are filled up with zeros, whose products are no least work.
    obs = jax.ShapeDtypeStruct(environment.observation_space.shape, jnp.float32)
    batch = _batch(obs, config.batch_size)
    acting = jax.make_jaxpr(agent.beliefs)(learner.params, obs, key)
    updating = jax.make_jaxpr(agent.update)(learner, batch, jnp.ones(()), key)
    weights = sum(leaf.size for leaf in jax.tree.leaves(learner.optimiser.moments)) // 2
    anchors = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(learner.prior, _is_large)))
    # Adam reads the gradient, the weight, both moments and the anchor, if any; it writes weight and moments.
    return Work(
        multiply_adds(acting.jaxpr) + multiply_adds(updating.jaxpr),
        FLOAT_BYTES * (7 * weights + anchors),
        FLOAT_BYTES * (4 * weights + anchors),
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
