"""A process that makes steps of one program when it is told to, for `surefoot.bench.other_process`.

It runs with the interpreter of another environment, where another library or another revision of Surefoot is
installed, so it imports nothing of this one. It is started with the name of a program and settings in JSON,
reads numbers of steps from standard input, and answers each with an empty line when they are made.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

MakeSteps = Callable[[int], Any]


def surefoot(settings: dict[str, Any]) -> MakeSteps:
    """An agent of Surefoot on MinAtar Breakout, in whichever revision is installed."""
    from surefoot.bench.surefoot_agents import compiled_contender

    return compiled_contender(settings["agent"]).make_steps


def rejax(settings: dict[str, Any]) -> MakeSteps:
    """DQN of Rejax on Gymnax's MinAtar Breakout, with the paper's network."""
    import jax
    import jax.numpy as jnp
    from flax import linen as nn  # pyright: ignore[reportMissingImports]
    from rejax.algos.dqn import DQN  # pyright: ignore[reportMissingImports]
    from rejax.buffers import ReplayBuffer  # pyright: ignore[reportMissingImports]
    from rejax.compat import create  # pyright: ignore[reportMissingImports]
    from rejax.networks import EpsilonGreedyPolicy  # pyright: ignore[reportMissingImports]

    class MinAtarQNetwork(nn.Module):  # pyright: ignore[reportUntypedBaseClass]
        action_dim: int

        @nn.compact  # pyright: ignore[reportUntypedFunctionDecorator]
        def __call__(self, obs: Any) -> Any:
            x = nn.relu(nn.Conv(16, (3, 3), padding="VALID")(obs.astype(jnp.float32)))
            x = nn.relu(nn.Dense(128)(x.reshape(x.shape[0], -1)))
            return nn.Dense(self.action_dim)(x)

        def take(self, obs: Any, action: Any) -> Any:
            return jnp.take_along_axis(self(obs), action[:, None], axis=1).squeeze(axis=1)

    if settings["sampling"] == "uniform":

        def sample(buffer: Any, num: int, rng: Any) -> Any:
            index = jax.random.randint(rng, (num,), 0, buffer.num_entries)
            return jax.tree.map(lambda array: array[index], buffer.data)

        ReplayBuffer.sample = sample

    env, env_params = create("Breakout-MinAtar")
    algorithm = DQN(
        env=env,
        env_params=env_params,
        eval_callback=lambda *_: None,
        agent=EpsilonGreedyPolicy(MinAtarQNetwork)(action_dim=env.action_space(env_params).n),
        num_envs=1,
        num_epochs=1,
        ddqn=False,
        batch_size=settings["batch_size"],
        buffer_size=settings["replay_capacity"],
        fill_buffer=settings["learning_starts"],
        target_update_freq=settings["target_period"],
        polyak=0.0,
        learning_rate=settings["learning_rate"],
        gamma=settings["discount"],
    )

    def many_steps(state: Any, count: Any) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, each: algorithm.train_iteration(each), state)

    # Copied, because a buffer that stands in two places of the state cannot be donated.
    state: Any = jax.tree.map(jnp.copy, jax.jit(algorithm.init_state)(jax.random.key(0)))
    advance = jax.jit(many_steps, donate_argnums=0)

    def make_steps(count: int) -> None:
        nonlocal state
        state = jax.block_until_ready(advance(state, count))

    make_steps(settings["learning_starts"] + 100)
    full = state.replay_buffer.replace(full=jnp.asarray(True))
    state = state.replace(replay_buffer=full)
    return make_steps


def sbx(settings: dict[str, Any]) -> MakeSteps:
    """DQN of SBX on CartPole-v1."""
    from sbx import DQN  # pyright: ignore[reportMissingImports]

    model = DQN(
        "MlpPolicy",
        "CartPole-v1",
        batch_size=settings["batch_size"],
        train_freq=1,
        gradient_steps=1,
        learning_starts=settings["learning_starts"],
        buffer_size=settings["replay_capacity"],
        target_update_interval=settings["target_period"],
        learning_rate=settings["learning_rate"],
        gamma=settings["discount"],
        policy_kwargs={"net_arch": settings["widths"]},
        seed=0,
    )
    model.learn(settings["learning_starts"] + 500)
    return lambda count: model.learn(count, reset_num_timesteps=False)


PROGRAMS = {"surefoot": surefoot, "rejax": rejax, "sbx": sbx}


def serve(make_steps: MakeSteps, answer: Callable[[], None]) -> None:
    """Make the steps that each line of standard input asks for, until it ends."""
    answer()
    for line in sys.stdin:
        make_steps(int(line))
        answer()


def main() -> None:
    """Build the program that is named on the command line, and serve."""
    name, settings = sys.argv[1:]
    # Whatever libraries print goes to standard error: standard output carries the answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer() -> None:
        answers.write("\n")
        answers.flush()

    serve(PROGRAMS[name](json.loads(settings)), answer)


if __name__ == "__main__":
    main()
