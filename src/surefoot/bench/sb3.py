"""The agents of Stable-Baselines3, with the same networks, batches and updates as Surefoot's."""

from importlib.util import find_spec
from typing import Any

from surefoot.bench.timing import Contender

PEERS = {"qrdqn": "SB3-contrib QR-DQN", "dqn": "SB3 DQN"}
"""The contenders that are compared with Surefoot's agents, by the names of the latter."""
LEARNING_STARTS = 1_000
QUANTILES = 50


def is_installed(*packages: str) -> bool:
    """Whether SB3-contrib and further packages are installed."""
    return all(find_spec(name) is not None for name in ("sb3_contrib", *packages))


def cartpole(widths: tuple[int, ...], batch: int, capacity: int) -> Contender:
    """SB3-contrib's QR-DQN on CartPole-v1."""
    import sb3_contrib  # pyright: ignore[reportMissingImports]

    policy = {"net_arch": list(widths), "n_quantiles": QUANTILES}
    return _contender(PEERS["qrdqn"], sb3_contrib.QRDQN, "CartPole-v1", policy, batch, capacity)


def minatar() -> list[Contender]:
    """QR-DQN and DQN on the reference MinAtar Breakout, with the paper's network and sizes."""
    import gymnasium
    import sb3_contrib  # pyright: ignore[reportMissingImports]
    import stable_baselines3  # pyright: ignore[reportMissingImports]
    from minatar.gym import register_envs  # pyright: ignore[reportMissingImports]

    if "MinAtar/Breakout-v0" not in gymnasium.registry:
        register_envs()
    # Version 0 has all six actions, as in the paper; without this, Gymnasium warns that version 1 is newer.
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    policy = {"net_arch": [128], "features_extractor_class": _convolution()}
    env, batch, capacity = "MinAtar/Breakout-v0", 32, 100_000
    quantile_policy = {**policy, "n_quantiles": QUANTILES}
    return [
        _contender(PEERS["qrdqn"], sb3_contrib.QRDQN, env, quantile_policy, batch, capacity),
        _contender(PEERS["dqn"], stable_baselines3.DQN, env, policy, batch, capacity),
    ]


def _contender(
    name: str, agent: Any, env: str, policy: dict[str, Any], batch: int, capacity: int
) -> Contender:
    import torch  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    model = agent(
        "MlpPolicy",
        env,
        batch_size=batch,
        train_freq=1,
        gradient_steps=1,
        learning_starts=LEARNING_STARTS,
        buffer_size=capacity,
        target_update_interval=1_000,
        max_grad_norm=float("inf"),  # Surefoot's agents do not clip either.
        policy_kwargs=policy,
        device="cpu",
        seed=0,
    )
    model.learn(LEARNING_STARTS + 100)
    _fill(model.replay_buffer)
    return Contender(name, lambda count: model.learn(count, reset_num_timesteps=False) and None)


def _fill(buffer: Any) -> None:
    """Repeat the contents of a buffer until it is full."""
    count = buffer.pos
    for array in (
        buffer.observations,
        buffer.next_observations,
        buffer.actions,
        buffer.rewards,
        buffer.dones,
    ):
        for start in range(count, len(array), count):
            array[start : start + count] = array[: min(count, len(array) - start)]
    buffer.full, buffer.pos = True, 0


def _convolution() -> Any:
    """The paper's 3x3 convolution with 16 channels, as a features extractor of SB3."""
    import torch  # pyright: ignore[reportMissingImports]
    from stable_baselines3.common.torch_layers import (  # pyright: ignore[reportMissingImports]
        BaseFeaturesExtractor,
    )

    class Convolution(BaseFeaturesExtractor):  # pyright: ignore[reportUntypedBaseClass]
        def __init__(self, observation_space: Any) -> None:
            height, width, channels = observation_space.shape
            super().__init__(observation_space, 16 * (height - 2) * (width - 2))
            self.layers = torch.nn.Sequential(
                torch.nn.Conv2d(channels, 16, 3), torch.nn.ReLU(), torch.nn.Flatten()
            )

        def forward(self, observations: Any) -> Any:
            return self.layers(observations.permute(0, 3, 1, 2))

    return Convolution
