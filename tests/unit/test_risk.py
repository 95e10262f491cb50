import pytest

from surefoot.risk import risk_aversion_of
from surefoot.errors import UserError


@pytest.mark.parametrize(("text", "aversion"), [("mean", 0), ("mean-sd:0.5", 0.5), ("mean-sd:0", 0)])
def test_an_attitude_is_read_from_text(text, aversion):
    assert risk_aversion_of(text) == aversion


@pytest.mark.parametrize(
    "text", ["", "mean-sd", "mean-sd:", "mean-sd:-1", "mean-sd:inf", "mean-sd:x", "luck:1"]
)
def test_an_unknown_attitude_is_refused_with_what_is_accepted(text):
    with pytest.raises(UserError, match=r"risk: got .*accepted: mean, or mean-sd:LAMBDA"):
        risk_aversion_of(text)
