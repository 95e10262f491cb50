"""The agents of Stable-Baselines3 in the benchmark."""

import pytest

from surefoot.bench import sb3


@pytest.fixture(autouse=True)
def installed_peers():
    for name in ("torch", "sb3_contrib", "minatar"):
        pytest.importorskip(name)


def test_sb3_agents_make_steps_on_minatar_with_full_replays(monkeypatch):
    filled = []
    fill = sb3._fill
    monkeypatch.setattr(sb3, "_fill", lambda buffer: (fill(buffer), filled.append(buffer)))
    for contender in sb3.minatar():
        contender.make_steps(5)
    assert [buffer.size() for buffer in filled] == [100_000, 100_000]
    for buffer in filled:
        assert buffer.observations[50_000].any()
        assert buffer.observations[-1].any()


def test_sb3_contrib_makes_steps_on_cartpole():
    contender = sb3.cartpole((64, 64), 32, 2_000)
    contender.make_steps(5)
    assert contender.name == "SB3-contrib QR-DQN"
