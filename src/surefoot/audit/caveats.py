"""What an agent's numbers cannot mean, by the settings it learned with; docs/paper_map.md has the reasons."""

from enum import StrEnum
from typing import Any

from surefoot.model_spec import ModelSpec


class EpistemicKind(StrEnum):
    """What an agent's epistemic uncertainty is about."""

    ONE_STEP = "one-step"
    """The value, given what is believed of the next state: what is not known of later states is not in it."""
    TOTAL = "total"
    """The value itself: what is not known of later states reaches earlier ones."""
    NONE = "none"
    UNKNOWN = "of an agent of one's own"


def epistemic_kind_of(spec: ModelSpec) -> EpistemicKind:
    """What the epistemic uncertainty of a model is about."""
    if spec.agent == "uadqn":
        shared = getattr(spec.settings, "targets", "shared") == "shared"
        return EpistemicKind.ONE_STEP if shared else EpistemicKind.TOTAL
    known = {
        "bootstrapped": EpistemicKind.TOTAL,
        "qrdqn": EpistemicKind.NONE,
        "dqn": EpistemicKind.NONE,
    }
    return known.get(spec.agent, EpistemicKind.UNKNOWN)


def caveats_of(spec: ModelSpec) -> tuple[str, ...]:
    """Sentences about what the numbers of a model with these settings cannot mean."""
    found = list[str]()
    settings: Any = spec.settings
    if getattr(settings, "levels", None) == "paper":
        found.append(
            "levels i/(N+1): every bootstrap drops probability from each tail, "
            f"1/(N+1) = {1 / (settings.quantiles + 1):.2g}, so the spread of a return that is several steps "
            "away is too small, and its tails are not tails of that return. Midpoints ((i - 1/2)/N) keep it."
        )
    if getattr(settings, "kappa", 0) > 0:
        found.append(
            f"kappa {settings.kappa:g}: the quantile Huber loss is minimised between quantiles and "
            "expectiles, closer to the mean than the level that they are named by. An interval between two "
            "of them is no central interval."
        )
    if spec.agent == "uadqn" and settings.targets == "shared":
        found.append(
            "targets shared: epistemic uncertainty is one-step. All networks learn the value network's "
            "targets, so it says how well the target of a state is learned, not whether that target is "
            "right. What is unknown of later states is not in it."
        )
    if getattr(settings, "aleatoric", None) == "biased":
        found.append("aleatoric biased: epistemic variance is in the aleatoric one (Proposition 2.1).")
    if getattr(settings, "aleatoric", None) == "released":
        found.append("aleatoric released: differences between actions leak into the aleatoric variance.")
    objective = getattr(settings, "objective", "greedy")
    if objective != "greedy":
        found.append(
            f"objective {objective}: values are those of the agent's own policy, under {settings.risk}, "
            "and so is this audit."
        )
    elif getattr(settings, "risk", "mean") != "mean":
        found.append(
            f"risk {settings.risk}: the agent acts by it, but its values are those of the policy that is "
            "greedy by the mean, and so is this audit."
        )
    found += _BY_AGENT.get(spec.agent, ())
    return tuple(found)


_BY_AGENT: dict[str, tuple[str, ...]] = {
    "qrdqn": (
        "QR-DQN: its aleatoric variance is that of one network's quantiles, which contains what the network "
        "has not learned (Proposition 2.1); it has no epistemic uncertainty.",
    ),
    "bootstrapped": ("Bootstrapped DQN: it has no aleatoric uncertainty.",),
    "dqn": ("DQN: it has neither uncertainty; only its means can be audited.",),
}
