"""An audit as a whole: play, ask for beliefs, measure, judge."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.audit import aleatoric, epistemic, exact, held_out, novelty, risk_coverage, rollouts
from surefoot.audit.evidence import gather
from surefoot.audit.rollouts import Advance, Rollouts
from surefoot.audit.section import Section
from surefoot.audit.subject import Subject
from surefoot.claims import Claim
from surefoot.envs.resolve import EnvHandle
from surefoot.errors import UserError
from surefoot.recalibration import Recalibration
from surefoot.text import single_line

OTHER_STEPS = 200
"""Steps of the episodes that only give observations to compare with."""


@dataclass(frozen=True, kw_only=True)
class Config(Rollouts):
    """Settings of an audit."""

    recalibrate: bool = False
    """Fit a recalibration of the quantiles on half of the episodes, and save it with the model."""


class Audit(NamedTuple):
    """What an audit found."""

    name: str
    """What was audited."""
    config: Config
    sections: tuple[Section, ...]
    caveats: tuple[str, ...]
    """What the numbers cannot mean, by the settings of the agent."""
    recalibration: Recalibration | None
    """The new one, if one was asked for."""

    @property
    def claims(self) -> list[Claim]:
        """All claims, with their verdicts."""
        return [claim for section in self.sections for claim in section.claims]


def audit(
    subject: Subject,
    config: Config,
    *,
    other: EnvHandle | None = None,
    history: Mapping[str, NDArray[Any]] | None = None,
    advance: Advance = lambda _: None,
) -> Audit:
    """Compare what a subject believes with what happens.

    Args:
        subject: What is audited.
        config: How much is played.
        other: Another environment of the same shape, whose observations the agent should not know.
        history: Columns of the run's log, for errors by step where the truth is exact.
        advance: Called with the fraction of the work that was just done.
    """
    visited = rollouts.play(subject, config, lambda part: advance(0.7 * part))
    evidence = gather(subject, visited)
    others = _other_observations(subject, config, other)
    advance(0.1)
    recalibration = None
    measured: list[Callable[[], Section]] = [
        lambda: aleatoric.measure(evidence, config.seed),
        lambda: epistemic.measure(evidence),
        lambda: novelty.measure(evidence, others, config.seed),
        lambda: risk_coverage.measure(evidence),
    ]
    sections = list[Section]()
    for measure in measured:
        sections.append(measure())
        advance(0.2 / len(measured))
    if exact.is_solvable(subject):
        sections.append(exact.measure(subject, history or {}))
    if config.recalibrate:
        recalibration, section = held_out.recalibrate(evidence, config.seed)
        sections.append(section)
    return Audit(subject.name, config, tuple(sections), subject.caveats, recalibration)


def _other_observations(subject: Subject, config: Config, other: EnvHandle | None) -> dict[str, NDArray[Any]]:
    """Observations to compare with: of a random policy, and of another environment."""
    rng = np.random.default_rng([config.seed, 3])
    actions = int(subject.env.gym.action_space.n)
    found = {
        novelty.UNVISITED: rollouts.observations(
            lambda _: int(rng.integers(actions)), subject.env, config, OTHER_STEPS
        )
    }
    if other is not None:
        mine, theirs = subject.env.gym.observation_space, other.gym.observation_space
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            raise UserError(
                f"env_other: {other.name} has observations {single_line(theirs)}, "
                f"accepted: the shape and dtype of {single_line(mine)}"
            )
        most = int(other.gym.action_space.n)
        found[other.name] = rollouts.observations(
            lambda obs: subject.act(obs) % most, other, config, OTHER_STEPS
        )
    return found
