"""The estimators with PyTorch tensors, run by `make test-parity`, which installs PyTorch."""

import numpy as np
import pytest

from surefoot import estimators

torch = pytest.importorskip("torch")


def every_estimate(values):
    return [
        estimators.epistemic_variance(values[0], values[1]),
        estimators.aleatoric_variance(values[0], values[1]),
        estimators.quantile_variance(values[0]),
        *estimators.decompose(values[:2]),
        *estimators.decompose(values),
        estimators.posterior_epistemic_variance(values),
        estimators.posterior_aleatoric_variance(values),
        estimators.posterior_total_variance(values),
    ]


def test_torch_tensors_give_torch_tensors_equal_to_the_arrays_of_numpy():
    sample = np.random.default_rng(0).normal(size=(3, 4, 5))
    for found, truth in zip(every_estimate(torch.tensor(sample)), every_estimate(sample), strict=True):
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.numpy(), truth, rtol=1e-12)


def test_gradients_flow_through_torch_tensors():
    y_a = torch.tensor([1.0, 2.0, 6.0], requires_grad=True)
    y_b = torch.tensor([3.0, 2.0, 4.0])
    estimators.epistemic_variance(y_a, y_b).backward()
    np.testing.assert_allclose(y_a.grad.numpy(), [-2 / 3, 0, 2 / 3], rtol=1e-6)


def test_whole_numbers_are_converted_and_wrong_shapes_refused_as_with_numpy():
    y_a, y_b = torch.tensor([1, 2, 6], dtype=torch.uint8), torch.tensor([3, 2, 4], dtype=torch.uint8)
    assert float(estimators.epistemic_variance(y_a, y_b)) == pytest.approx(4 / 3)
    with pytest.raises(ValueError, match="one shape"):
        estimators.epistemic_variance(y_a, torch.ones(4))
