"""The benchmark: counts of operations, turns and ratios. No time is tested."""

import jax.numpy as jnp
import pytest

from surefoot import replay as replays
from surefoot.bench import hardware_bound, paper_release, surefoot_agents, timing
from surefoot.bench.timing import Contender, Speed
from surefoot.errors import UserError
from surefoot.types import Transition

FORWARD_PRODUCTS = 64 * 37 * 16 + 1024 * 128 + 128 * 300
"""Multiplications of the paper's network: a convolution and its bias at 64 positions, a dense layer, 6 x 50
outputs."""
INPUT_GRADIENT_PRODUCTS = 1024 * 128 + 128 * 300
"""Multiplications of the gradients of the inputs of the last two layers; the first layer needs none."""


def test_multiplications_of_a_step_are_those_counted_by_hand():
    forward, batch = FORWARD_PRODUCTS, 32
    update = 2 * forward + INPUT_GRADIENT_PRODUCTS  # Gradients of the weights take as many as the outputs.
    assert hardware_bound.work_of("qrdqn").multiply_adds == batch * (forward + update) + forward
    assert hardware_bound.work_of("uadqn").multiply_adds == batch * (forward + 3 * update) + 3 * forward


def test_adam_moves_seven_numbers_per_weight_and_eight_if_it_has_an_anchor():
    weights = 36 * 16 + 16 + 1024 * 128 + 128 + 128 * 300 + 300
    assert hardware_bound.work_of("qrdqn").adam_bytes == 4 * 7 * weights
    assert hardware_bound.work_of("uadqn").adam_bytes == 4 * (3 * 7 + 2) * weights
    assert hardware_bound.work_of("uadqn").array_bytes == 4 * (3 * 4 + 2) * weights


def test_the_bound_is_the_time_of_products_plus_that_of_memory_in_arrays_of_the_agents_size():
    flops = 10 * 2 * hardware_bound.MATRIX_SIDE**3
    work = hardware_bound.Work(multiply_adds=flops, adam_bytes=7_000_000, array_bytes=4_000_000)
    names = [each.name for each in hardware_bound.contenders([work, work])]
    assert names == [*hardware_bound.PRODUCTS, "memory, 4.0 MB"]
    speeds = {name: Speed(name, 10.0, [10.0]) for name in names}
    assert hardware_bound.flop_rate(speeds) == flops
    assert work.byte_rate(speeds) == 40_000_000
    assert work.seconds(speeds) == pytest.approx(2 + 7 / 40)


def test_contenders_take_turns_and_ratios_are_medians_of_rounds():
    turns = []
    contenders = [Contender(name, lambda _, name=name: turns.append(name)) for name in "ab"]
    found = timing.measure_in_turns(contenders, seconds=1e-9, rounds=3)
    assert turns[4:] == ["a", "b"] * 3
    assert [len(speed.rounds) for speed in found] == [3, 3]
    one, other = Speed("a", 2, [2, 4, 9]), Speed("b", 1, [1, 1, 3])
    assert one.ratio_to(other) == 3
    assert one.ratio_quartiles(other) == (2.5, 3.5)


def test_turns_are_whole_numbers_of_steps_of_all_environments():
    asked = []
    timing.measure_in_turns([Contender("a", asked.append, 64)], seconds=1e-9, rounds=2)
    assert asked == [64] * 4


def test_a_replay_is_filled_with_sparse_images():
    image, number = jnp.zeros((10, 10, 4), bool), jnp.zeros(())
    example = Transition(image, number.astype(jnp.int32), number, number.astype(bool), image)
    replay = surefoot_agents.fill_replay(replays.init(64, example))
    assert int(replay.size) == 64
    for images in (replay.storage.obs, replay.storage.next_obs):
        assert 0.08 < float(jnp.mean(images.astype(float))) < 0.12


def test_a_directory_without_the_released_code_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^released_code: got .*, accepted: a checkout of github.com/Indust"):
        paper_release.contenders(tmp_path)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--rounds", "0"], "--rounds: got 0, accepted: whole numbers from 1"),
        (["--seconds", "inf"], "--seconds: got inf, accepted: finite numbers above 0"),
        (["--json", "no/such/file.json"], "--json: got no/such/file.json, accepted: a file in a directory"),
        (["--released-code", "no/such"], "--released-code: got no/such, accepted: a checkout of"),
        (["--seconds", "0"], "--seconds: got 0.0, accepted: finite numbers above 0"),
        (["--only", "nonsense"], "nonsense"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run, args, message):
    code, _, err = run("bench", *args)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
