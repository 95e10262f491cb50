"""What an agent that learns quantiles makes of its attitude to risk: what it optimises, if anything.

- `greedy`: actions are chosen by the risk of a return to come that assumes risk-neutral actions later (the
  paper's way). No objective is optimised (docs/risk.md).
- `iterated`: the next action of a target is chosen by the same measure: dynamic risk, the measure of the
  measure of what follows, which is consistent in time.
- `static`: the CVaR of the whole episode's discounted return. Its best policy remembers what has been earned:
  observations end with the budget, the return that is still to come of a goal (`envs/budget.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from surefoot.errors import UserError, require
from surefoot.risk import NamedRiskMeasure, measures, parse_risk
from surefoot.settings import Settings, checked
from surefoot.types import Beliefs, RiskMeasure, mean_return

TIE_BREAK = 1e-3
"""Weight of the mean among actions that reach the goal equally surely."""


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of an attitude to risk."""

    risk: str = checked("mean", lambda _, text: parse_risk(text) and None)
    """Attitude to risk: mean, mean-sd:LAMBDA, cvar:ALPHA, wang:ETA, entropic:BETA, power:XI, pessimism:KAPPA,
    or package.module:name."""
    objective: Literal["greedy", "iterated", "static"] = "greedy"
    """What is optimised: nothing stated (greedy, the paper's), dynamic risk (iterated), or the CVaR of whole
    episodes (static)."""
    min_return: float = 0.0
    """Lowest discounted return of an episode, where the range of budgets begins (objective static only)."""
    max_return: float = 0.0
    """Highest discounted return of an episode, where the range of budgets ends (objective static only)."""


class Objective(NamedTuple):
    """How an agent acts, and how it assumes in its targets that it will act.

    - `value`: what an action is worth, as it is reported.
    - `acting`: by what actions are chosen.
    - `target`: by what the next action of a target is chosen.
    - `budget_of(obs)`: the budget in an observation or in a batch of them; None if there is none.
    """

    value: RiskMeasure
    acting: RiskMeasure
    target: RiskMeasure
    budget_of: Callable[[Array], Float[Array, "*batch"] | None] = lambda _: None
    has_budget: bool = False


NEUTRAL = Objective(mean_return, mean_return, mean_return)


def objective_of(config: Any, shapes: Beliefs) -> Objective:
    """The objective that settings name, for an agent whose beliefs have these shapes."""
    risk = parse_risk(config.risk)
    risk.require_served_by(shapes)
    if config.objective == "static":
        return _static(config, risk)
    has_no_range = config.min_return == config.max_return == 0
    require("max_return", config.max_return, has_no_range, "0, as min_return, without objective=static")
    return Objective(risk, risk, mean_return if config.objective == "greedy" else risk)


def _static(config: Any, risk: NamedRiskMeasure) -> Objective:
    if risk.name != "cvar":
        raise UserError(f"objective: got static with risk={risk:g}, accepted: static with risk=cvar:ALPHA")
    low, high = config.min_return, config.max_return
    if not low < high:
        raise UserError(
            f"objective: got static with min_return={low:g} and max_return={high:g}, accepted: a lower and a "
            "higher bound on the discounted return of an episode, such as min_return=-10, max_return=10"
        )
    require("discount", config.discount, config.discount > 0, "numbers above 0, with objective=static")
    value = partial(measures.budgeted_cvar, alpha=risk.numbers[0])

    def acting(beliefs: Beliefs) -> Float[Array, "*batch A"]:
        return value(beliefs) + TIE_BREAK * beliefs.mean

    def budget_of(obs: Array) -> Float[Array, "*batch"]:
        return low + (high - low) * obs[..., -1]

    return Objective(value, acting, acting, budget_of, has_budget=True)


def quantile_belief_shapes(quantiles: int, *, epistemic: bool) -> Beliefs:
    """The shapes of what an agent of quantiles believes about one action."""

    def beliefs() -> Beliefs:
        number, members = jnp.zeros(1), jnp.zeros((2, 1))
        known = (number, members) if epistemic else (None, None)
        return Beliefs(number, known[0], number, jnp.zeros((1, quantiles)), known[1])

    return jax.eval_shape(beliefs)
