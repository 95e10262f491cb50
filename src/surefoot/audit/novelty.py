"""Whether epistemic uncertainty spots what was never seen.

Observations that the agent visits are compared with others: visited ones shuffled or with noise, those of
another environment of the same shape, and states that the agent has not learned from.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray
from scipy import stats

from surefoot.audit.evidence import Evidence, Floats, greedy_beliefs, over_episodes
from surefoot.audit.section import Section
from surefoot.audit.visits import counts_of, unseen
from surefoot.claims import Claim, above, claim
from surefoot.figures import audit_novelty as figure
from surefoot.statistics import Estimate

TITLE = "Epistemic: does it spot what was never seen?"
SHUFFLED, NOISED, UNVISITED = "shuffled", "noised", "unvisited"
FLIPPED = 0.1
"""The part of the entries of a grid that noise flips or draws anew."""
MIN_NOVEL = 20
"""Fewest novel observations that are compared."""


def measure(evidence: Evidence, others: Mapping[str, NDArray[Any]], seed: int) -> Section:
    """AUROC and the false positive rate at 95 % true positives, for each kind of novelty.

    `others` has observations by name, `[E, S, ...]`, of other environments; under `UNVISITED` those of
    another policy in the same environment, of which the ones that were not learned from are taken.
    """
    epistemic = evidence.beliefs.epistemic
    if epistemic is None:
        return Section("novelty", TITLE, not_applicable=("this agent has no epistemic uncertainty",))
    kinds, missing = novel_observations(evidence, others, seed)
    rows, claims, drawn = dict[str, Estimate](), list[Claim](), {"visited": epistemic.ravel()}
    for name, (obs, episodes) in kinds.items():
        scores = greedy_beliefs(evidence.subject, obs).epistemic
        assert scores is not None
        novel = [scores[episodes == each] for each in range(evidence.episodes)]
        auroc = over_episodes(lambda chosen, novel=novel: _auroc(epistemic, novel, chosen), len(epistemic))
        rows[f"AUROC, visited or {name}"] = auroc
        rows[f"false positives at 95 % true ones, {name}"] = over_episodes(
            lambda chosen, novel=novel: _false_positives(epistemic, novel, chosen), len(epistemic)
        )
        drawn[name] = scores
        if name == SHUFFLED:
            claims.append(
                claim(
                    "AUROC of epistemic sd, visited or shuffled observations",
                    paper="The agent is less sure of what it has never seen.",
                    **auroc._asdict(),
                    criterion=above(0.95),
                )
            )
    return Section(
        "novelty",
        TITLE,
        text=(
            "Shuffled: the entries of a visited observation in another order. "
            "Noised: a tenth of a grid's entries drawn anew, or a vector with noise "
            "of the standard deviation of each feature. An AUROC of 0.5 is chance, 1 is perfect.",
        ),
        rows=rows,
        claims=tuple(claims),
        figure=figure.draw(drawn, len(epistemic)),
        not_applicable=tuple(missing),
    )


Kinds = dict[str, tuple[NDArray[Any], NDArray[np.int64]]]
"""Novel observations by name, each with the episode that it belongs to."""


def novel_observations(
    evidence: Evidence, others: Mapping[str, NDArray[Any]], seed: int
) -> tuple[Kinds, list[str]]:
    """All kinds of novelty that these observations allow, and why the others are missing."""
    rng, obs = np.random.default_rng([seed, 2]), evidence.visited.obs
    flat = obs.reshape(-1, *obs.shape[2:])
    episodes = np.repeat(np.arange(obs.shape[0]), obs.shape[1])
    kinds, missing = Kinds(), list[str]()
    if isinstance(evidence.subject.env.gym.observation_space, Discrete):
        missing.append("shuffled and noised: a number has no entries to shuffle")
    else:
        known = flat if evidence.subject.experience is None else evidence.subject.experience.obs
        for name, change in ((SHUFFLED, shuffled), (NOISED, noised)):
            changed = change(flat, rng)
            # A shuffled position on a grid, for instance, is another position: nothing that was never seen.
            new = unseen(changed, known)
            if new.sum() < MIN_NOVEL:
                missing.append(f"{name}: of {len(new)} such observations, {new.sum()} were never seen")
            else:
                kinds[name] = changed[new], episodes[new]
    for name, found in others.items():
        rows, owners = found.reshape(-1, *found.shape[2:]), np.repeat(np.arange(len(found)), found.shape[1])
        if name == UNVISITED:
            experience, counts = evidence.subject.experience, counts_of(evidence)
            if experience is None or isinstance(counts, str):
                missing.append(f"{UNVISITED}: {counts}")
                continue
            new = unseen(rows, experience.obs)
            if new.sum() < MIN_NOVEL:
                missing.append(
                    f"{UNVISITED}: of {len(new)} states of a random policy, {new.sum()} are not in the replay"
                )
                continue
            rows, owners = rows[new], owners[new]
        kinds[name] = rows, owners
    return kinds, missing


def shuffled(obs: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """The entries of each observation in an order of its own."""
    flat = obs.reshape(len(obs), -1)
    return rng.permuted(flat, axis=1).reshape(obs.shape)


def noised(obs: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Observations with noise: entries drawn anew where they are whole numbers, otherwise noise is added."""
    if obs.dtype.kind == "f":
        spread = obs.std(axis=0, keepdims=True)
        return (obs + spread * rng.standard_normal(obs.shape)).astype(obs.dtype)
    drawn = rng.uniform(size=obs.shape) < FLIPPED
    anew = rng.integers(int(obs.min()), int(obs.max()), size=obs.shape, endpoint=True)
    return np.where(drawn, anew.astype(obs.dtype), obs)


def _chosen(visited: Floats, novel: list[Floats], chosen: NDArray[Any]) -> tuple[Floats, Floats] | None:
    of_novel = np.concatenate([novel[each] for each in chosen])
    return (visited[chosen].ravel(), of_novel) if len(of_novel) else None


def _auroc(visited: Floats, novel: list[Floats], chosen: NDArray[Any]) -> float:
    """The probability that a novel observation has the higher score than a visited one; a tie is half."""
    found = _chosen(visited, novel, chosen)
    if found is None:
        return float("nan")
    known, new = found
    ranks = stats.rankdata(np.concatenate(found))
    return float((ranks[len(known) :].mean() - (len(new) + 1) / 2) / len(known))


def _false_positives(visited: Floats, novel: list[Floats], chosen: NDArray[Any]) -> float:
    """The part of visited observations above the threshold that 95 % of the novel ones exceed."""
    found = _chosen(visited, novel, chosen)
    if found is None:
        return float("nan")
    return float(np.mean(found[0] >= np.quantile(found[1], 0.05)))
