"""Whether the aleatoric uncertainty is right: whether returns are spread as widely as the agent believes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from surefoot import recalibration
from surefoot.audit.evidence import Evidence, Floats, mean_over_episodes, over_episodes, per_episode
from surefoot.audit.section import Section
from surefoot.claims import Claim, above, between, claim
from surefoot.figures import audit_aleatoric as figure
from surefoot.statistics import Estimate

CENTRAL = (0.5, 0.8, 0.9)
"""Central intervals whose coverage is reported."""
CLAIMED = 0.8
"""The one that is claimed about."""
PIT_BINS = 10

TITLE = "Aleatoric: are returns spread as the agent believes?"


def measure(evidence: Evidence, seed: int) -> Section:
    """Errors of means, ratio of spreads, coverage, PIT histogram, CRPS."""
    rows: dict[str, Estimate] = {"believed mean less mean return": _mean_error(evidence)}
    claims, missing = list[Claim](), list[str]()
    if evidence.beliefs.aleatoric_variance is None:
        missing.append("ratio of spreads: this agent has no aleatoric variance")
    else:
        ratio = spread_ratio(evidence)
        rows["believed / actual spread of returns"] = ratio
        claims.append(
            claim(
                "believed / actual spread of returns",
                paper="The aleatoric standard deviation is the spread of the returns.",
                **ratio._asdict(),
                criterion=between(0.8, 1.25),
            )
        )
    drawn = None
    if evidence.beliefs.quantiles is None:
        missing.append("coverage, PIT and CRPS: this agent has no quantiles")
    else:
        levels = levels_of(evidence, evidence.beliefs.quantiles, seed)
        rows |= {f"coverage of the central {part:.0%} interval": coverage(levels, part) for part in CENTRAL}
        skill = crps_skill(evidence)
        rows["CRPS skill over the returns of other episodes"] = skill
        claims += [coverage_claim(coverage(levels, CLAIMED)), _skill_claim(skill)]
        drawn = figure.draw(figure_data(levels))
    return Section(
        "aleatoric",
        TITLE,
        text=_text(evidence),
        rows=rows,
        claims=tuple(claims),
        figure=drawn,
        not_applicable=tuple(missing),
    )


def coverage_claim(measured: Estimate, which: str = "") -> Claim:
    """The claim about the 80 % interval."""
    return claim(
        f"coverage of the central {CLAIMED:.0%} interval{which}",
        paper=f"{CLAIMED:.0%} of returns lie in the believed central {CLAIMED:.0%} interval.",
        **measured._asdict(),
        criterion=between(0.7, 0.9),
    )


def _skill_claim(skill: Estimate) -> Claim:
    return claim(
        "CRPS skill over the returns of other episodes",
        paper="What is believed of a state says more about its return than the returns of all states do.",
        **skill._asdict(),
        criterion=above(0),
    )


def _mean_error(evidence: Evidence) -> Estimate:
    return mean_over_episodes(evidence.beliefs.mean - evidence.returns.mean(axis=-1))


def spread_ratio(evidence: Evidence) -> Estimate:
    """Root mean square of the believed standard deviations over that of the actual ones.

    Mean squares, because a variance that is estimated without bias may be negative for a single state. The
    resolution is added to both, so that a policy whose returns are certain has a ratio, too.
    """
    variance = evidence.beliefs.aleatoric_variance
    assert variance is not None
    if evidence.has_repeats:
        actual = evidence.returns.var(axis=-1, ddof=1)
    else:  # Around the believed mean: a single return has no spread.
        actual = (evidence.returns[..., 0] - evidence.beliefs.mean) ** 2

    least = evidence.resolution**2
    believed, spreads = per_episode(variance), per_episode(actual)

    def ratio(chosen: NDArray[Any]) -> float:
        spread = spreads[chosen].mean() + least
        return float(np.sqrt((max(believed[chosen].mean(), 0) + least) / spread)) if spread > 0 else np.nan

    return over_episodes(ratio, evidence.episodes)


def levels_of(evidence: Evidence, quantiles: Floats, seed: int) -> Floats:
    """The level of each return in the believed quantiles, `[E, S, R]`."""
    return ndtr(scores_of(evidence, quantiles, seed))


def scores_of(evidence: Evidence, quantiles: Floats, seed: int) -> Floats:
    """The same as normal scores."""
    flat = evidence.returns.reshape(-1, evidence.returns.shape[-1])
    found = recalibration.scores_of_returns(
        quantiles.reshape(len(flat), -1),
        evidence.subject.levels,
        flat,
        evidence.resolution,
        np.random.default_rng(seed),
    )
    return found.reshape(evidence.returns.shape)


def coverage(levels: Floats, part: float) -> Estimate:
    """The part of returns that lie in a central interval."""
    return mean_over_episodes(np.abs(levels - 0.5) <= part / 2)


def crps_skill(evidence: Evidence) -> Estimate:
    """1 less the CRPS over that of a climatological forecast: the returns of all other episodes.

    The CRPS is twice the pinball loss, averaged over the agent's levels, for both forecasts.
    """
    assert evidence.beliefs.quantiles is not None
    levels, returns = evidence.subject.levels, evidence.returns
    believed = per_episode(_pinball(returns[..., None] - evidence.beliefs.quantiles[..., None, :], levels))
    indices = np.arange(evidence.episodes)
    climate = np.stack([np.quantile(returns[indices != each], levels) for each in indices])  # [E, N]
    climatological = per_episode(_pinball(returns[..., None] - climate[:, None, None, :], levels))

    def skill(chosen: NDArray[Any]) -> float:
        reference = climatological[chosen].mean()
        return float(1 - believed[chosen].mean() / reference) if reference > 0 else float("nan")

    return over_episodes(skill, evidence.episodes)


def _pinball(error: Floats, levels: Floats) -> Floats:
    """Mean pinball loss over levels; NumPy's, so that it is not compiled."""
    return (error * np.where(error < 0, levels - 1, levels)).mean(axis=-1)


def figure_data(levels: Floats) -> dict[str, Any]:
    """The PIT histogram, as a density with its intervals, and coverage by the size of the interval."""
    edges = np.linspace(0, 1, PIT_BINS + 1)
    bins = [
        mean_over_episodes(PIT_BINS * ((levels >= low) & (levels < high)))
        for low, high in zip(edges, [*edges[1:-1], np.inf], strict=False)
    ]
    parts = np.linspace(0.1, 0.95, 18)
    covered = [coverage(levels, part) for part in parts]
    return {
        "edges": edges,
        "density": np.array([each.measured for each in bins]),
        "density_interval": np.array([each.interval for each in bins]),
        "parts": parts,
        "covered": np.array([each.measured for each in covered]),
        "covered_interval": np.array([each.interval for each in covered]),
        "episodes": len(levels),
    }


def _text(evidence: Evidence) -> tuple[str, ...]:
    episodes, states, returns = evidence.returns.shape
    completed = evidence.visited.completed
    found = [
        f"{episodes} episodes of the policy that is greedy by the mean, {states} states of each, "
        f"{returns} discounted returns from each state: {evidence.visited.how}.",
        f"Returns that differ by less than {evidence.resolution:.3g} count as equal "
        f"(a twentieth of the spread of all returns).",
    ]
    if np.any(completed > 0):
        found.append(
            f"{np.mean(completed > 0):.0%} of the returns did not reach the end of the episode and were "
            "completed by the believed value there, whose mean weight was "
            f"{completed[completed > 0].mean():.2g}."
        )
    if evidence.beliefs.raw_quantiles is not None:
        found.append("The model is recalibrated: these are its recalibrated quantiles.")
    return tuple(found)
