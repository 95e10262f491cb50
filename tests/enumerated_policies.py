"""All deterministic policies of a small table that may remember everything, by their returns."""

from itertools import chain, product


def all_return_distributions(table, state=0, discount=1.0, earned=0.0, weight=1.0):
    """The return distribution, as (probability, return) pairs, of every policy from a history on.

    A policy may choose by all that happened: after each outcome it chooses anew, even in the same state.
    """
    found = []
    for action in sorted(action for where, action in table if where == state):
        branches = []
        for probability, reward, ahead in table[state, action]:
            so_far = earned + weight * reward
            after = (
                [[(1.0, so_far)]]
                if ahead is None
                else all_return_distributions(table, ahead, discount, so_far, weight * discount)
            )
            branches.append([[(probability * p, value) for p, value in each] for each in after])
        found += [list(chain(*chosen)) for chosen in product(*branches)]
    return found


def cvar(distribution, alpha):
    """Mean of the worst part alpha of a distribution of (probability, return) pairs."""
    left, total = alpha, 0.0
    for probability, value in sorted(distribution, key=lambda pair: pair[1]):
        part = min(probability, left)
        left, total = left - part, total + part * value
    return total / alpha
