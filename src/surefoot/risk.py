"""Attitudes to risk, as one word of text."""

from surefoot.types import UserError

ACCEPTED = "mean, or mean-sd:LAMBDA with a number from 0 (such as mean-sd:0.5)"


def risk_aversion_of(attitude: str) -> float:
    """Lambda of an attitude: how many aleatoric standard deviations are taken off the mean."""
    measure, _, amount = attitude.partition(":")
    if attitude == "mean":
        return 0.0
    try:
        aversion = float(amount)
    except ValueError:
        aversion = -1.0
    if measure != "mean-sd" or not 0 <= aversion < float("inf"):
        raise UserError(f"risk: got {attitude}, accepted: {ACCEPTED}")
    return aversion


def aversion_of(risk_aversion: float | None, risk: str | None) -> float | None:
    """An attitude given as a number or as text; None where neither is."""
    if risk is not None:
        return risk_aversion_of(risk)
    if risk_aversion is not None and not 0 <= risk_aversion < float("inf"):
        raise UserError(f"risk_aversion: got {risk_aversion}, accepted: numbers from 0")
    return risk_aversion
