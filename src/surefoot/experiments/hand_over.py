"""Handing over on a cliff whose further part training never saw: how many falls it saves, for how many steps.

Agents learn behind the gate of the windy cliff, where they never see the part before it, in which the wind
is 0.3. Then they are deployed in two ways. From far: every episode begins in the unknown part, and thresholds
are fitted where the agent learned, since nothing is known of the deployment. Mixed: one episode in twenty
begins there, and thresholds are fitted on held-out episodes of the deployment itself. The fallback walks
above the ledge.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from surefoot.agents.presets import resolve_settings
from surefoot.cautious import Cautious
from surefoot.cautious.comparison import at_budgets, play_each
from surefoot.claims import Claim, above, below, claim
from surefoot.envs import windy_cliff
from surefoot.experiments.base import ExperimentConfig, Outcome, Sweep, SweptExperiment, Table
from surefoot.experiments.cliff import NETWORK, agent_settings
from surefoot.experiments.cliff_claims import NEUTRAL, VARIANT_2
from surefoot.figures import hand_over_cliff as figure
from surefoot.model import load
from surefoot.settings import bounded
from surefoot.statistics import Estimate, jackknife_estimate, mean_estimate
from surefoot.sweeps.plan import PlannedRun

FAR_COLUMNS = 4
MIXED_STARTS = 0.05
"""The part of the episodes of the mixed deployment that begin in the unknown part."""
BUDGETS = (0.0, 0.05, 0.1, 0.2, 0.5)
BUDGET = 0.1
"""The budget that the claims are about."""
EPISODES = 100
"""Episodes that thresholds are fitted to, and that are played with each budget."""

AGENTS = {"risk-neutral": NEUTRAL, "risk-averse": VARIANT_2}
TRAINED, FAR, MIXED = "trained", "far", "mixed"
"""Where an agent is deployed: where it learned, from far, or now and then from far."""
STARTS = {TRAINED: 0.0, FAR: 1.0, MIXED: MIXED_STARTS}
EPISTEMIC, RANDOM = "epistemic", "random"
"""What decides when to hand over; at random moments, the control, equally many steps are handed over."""


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """Handing over: seeds and settings of the agents."""

    seeds: int = bounded(10, at_least=1)
    """Independent runs of each agent."""
    steps: int = bounded(10_000, at_least=100)
    """Environment steps per run, one update each."""
    preset: Literal["paper", "released", "calibrated"] = "calibrated"
    """Settings of the agents, as in the experiment cliff."""
    exploration: float = bounded(4.0, at_least=0)
    """Factor of the epistemic variance in Thompson sampling (beta)."""


def planned_run(config: Config, name: str, seed: int) -> PlannedRun:
    """One training run of an agent, behind the gate."""
    agent, given = agent_settings(AGENTS[name], config.preset, config.exploration)
    run = {
        "env": "surefoot/WindyCliff-v0",
        "env_kwargs": f'{{"far_columns": {FAR_COLUMNS}}}',
        "agent": agent,
        "network": NETWORK,
        "normalise": config.preset == "calibrated",
        "seed": seed,
        "eval_every": 0,
        "log_every": 1_000,
    }
    parts = [name, config.preset, f"beta{config.exploration:g}", f"seed{seed}"]
    settings = asdict(resolve_settings(agent, "minatar", given))
    return PlannedRun(name="-".join(parts), steps=config.steps, settings={**run, **settings})


def deployed(model: Any, seed: int, episodes: int = EPISODES) -> list[dict[str, Any]]:
    """What becomes of a model in each deployment, at each budget."""
    envs = {
        name: windy_cliff.make(windy_cliff.Config(far_columns=FAR_COLUMNS, far_starts=starts))
        for name, starts in STARTS.items()
    }
    rng = np.random.default_rng(seed)

    def at_random(beliefs: Any, actions: NDArray[np.int64]) -> Any:
        del beliefs
        return rng.random(len(actions))

    by_model = Cautious(model, windy_cliff.safe_action)
    by_chance = Cautious(model, windy_cliff.safe_action, measure=at_random)
    rows: list[dict[str, Any]] = []
    for moments, fitted_in, deployments, cautious, budgets in (
        (EPISTEMIC, TRAINED, (TRAINED, FAR), by_model, BUDGETS),
        (EPISTEMIC, MIXED, (MIXED,), by_model, BUDGETS),
        (RANDOM, MIXED, (MIXED,), by_chance, (0.0, BUDGET)),
    ):
        policies = at_budgets(cautious.fit(episodes, env=envs[fitted_in]), budgets)
        for deployment in deployments:
            rows += [
                {
                    "deployment": deployment,
                    "moments": moments,
                    "budget": each.cautious.budget,
                    "rate": each.played.hand_over_rate,
                    "return": each.played.evaluation.mean,
                    "fell": float(np.mean(each.played.evaluation.events["fell"])),
                    "recognised": recognised(model, each.cautious),
                }
                for each in play_each(policies, episodes=episodes, env=envs[deployment])
            ]
    return rows


def recognised(model: Any, cautious: Cautious) -> float:
    """The part of the states of the unknown part of the cliff that would be handed over."""
    config = windy_cliff.Config(far_columns=FAR_COLUMNS)
    unknown = windy_cliff.observations(config)[: FAR_COLUMNS + 2, :, :FAR_COLUMNS]
    batch = unknown.reshape(-1, unknown.shape[-1])
    beliefs = model.beliefs(batch)
    epistemic = np.asarray(beliefs.epistemic)[np.arange(len(batch)), model.predict(batch)[0]]
    return float(np.mean(epistemic > cautious.threshold))


def run(config: Config, sweep: Sweep) -> Outcome:
    """Train every agent with every seed, deploy each, then check the claims and draw the figure."""
    plan = {
        (name, seed): planned_run(config, name, seed) for name, seed in product(AGENTS, range(config.seeds))
    }
    paths = sweep(list(plan.values()))
    rows = [
        {"agent": name, "seed": seed, **row}
        for (name, seed), each in plan.items()
        for row in deployed(load(paths[each.name]), seed)
    ]
    table = {column: np.array([row[column] for row in rows]) for column in rows[0]}
    return Outcome(claims(table), {"data": table}, figure.draw(table, config.preset))


def column(
    table: Table, name: str, agent: str, deployment: str, budget: float, moments: str = EPISTEMIC
) -> NDArray[Any]:
    """A column of one agent in one deployment at one budget, by seed."""
    wanted = {"agent": agent, "deployment": deployment, "budget": budget, "moments": moments}
    return table[name][np.all([table[key] == value for key, value in wanted.items()], axis=0)]


def fall_ratio(table: Table, agent: str, deployment: str, moments: str = EPISTEMIC) -> Estimate:
    """Falls at the budget of the claims, as a part of those without handing over."""
    with_and_without = [column(table, "fell", agent, deployment, budget, moments) for budget in (BUDGET, 0.0)]

    def ratio(falls: NDArray[Any]) -> float:
        mean_with, mean_without = falls.mean(axis=0)
        return float(mean_with / mean_without) if mean_without > 0 else float("nan")

    return jackknife_estimate(ratio, np.stack(with_and_without, axis=-1))


def claims(table: Table) -> list[Claim]:
    """Falls at least halved, the budget met, the unknown part recognised, and chance no substitute."""
    made = [
        claim(
            f"{name}: states of the unknown part above the threshold",
            paper="epistemic uncertainty is large where the agent has not learned",
            **mean_estimate(column(table, "recognised", name, FAR, BUDGET))._asdict(),
            criterion=above(0.9),
        )
        for name in AGENTS
    ]
    measured: Sequence[tuple[str, str, str]] = (
        ("risk-neutral", FAR, "every episode from far, thresholds from training"),
        ("risk-averse", FAR, "every episode from far, thresholds from training"),
        ("risk-averse", MIXED, "one in twenty from far, thresholds from there"),
    )
    made += [
        claim(
            f"{name}, {where}: falls at a budget of {BUDGET:.0%}, as a part of those without",
            paper="handing over where the agent has not learned at least halves the falls",
            **fall_ratio(table, name, deployment)._asdict(),
            criterion=below(0.5),
        )
        for name, deployment, where in measured
    ]
    for name, deployment in product(AGENTS, (TRAINED, MIXED)):
        rate = column(table, "rate", name, deployment, BUDGET)
        made.append(
            claim(
                f"{name}, {deployment}: share of steps handed over at a budget of {BUDGET:.0%}",
                paper="the budget is met in new episodes of the kind that it was fitted to",
                **mean_estimate(rate)._asdict(),
                criterion=below(1.2 * BUDGET),
            )
        )
    made.append(
        claim(
            f"risk-averse, mixed: falls if {BUDGET:.0%} are handed over at random moments",
            paper="the control: what matters is when control is handed over, not how often",
            **fall_ratio(table, "risk-averse", MIXED, RANDOM)._asdict(),
            criterion=above(0.5),
        )
    )
    return made


EXPERIMENT = SweptExperiment(
    name="hand-over",
    title="Handing over on a cliff whose further part training never saw",
    intervals="95 % over seeds",
    tables=("data",),
    config=Config,
    run=run,
    min_seeds=3,
)
