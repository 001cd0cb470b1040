"""bench/compare/intervals.py - what can be said of a ratio measured in rounds

Nothing is assumed of how times are distributed; the rounds are taken to be
independent. docs/decisions/0032-comparison-by-rounds.md says why it is so.
"""

from math import comb
from statistics import median

CONFIDENCE = 0.95
FASTER, SLOWER, UNKNOWN = 'faster', 'slower', 'not to be told'


def rank_of_bound(n, confidence=CONFIDENCE):
    """k, so that the k-th smallest and the k-th largest of n numbers are the
    bounds of an interval that holds the median of their distribution at least
    that often; 0 if n is too small for any.

    The median is below the k-th smallest if less than k of n fall below it,
    each of which does with a probability of one half."""
    below, k = 0, 0
    while k < n // 2:
        below += comb(n, k)
        if 1 - 2 * below / 2 ** n < confidence:
            break
        k += 1
    return k


def interval(numbers, confidence=CONFIDENCE):
    """(low, high) of the median of what the numbers are drawn from; None if
    they are too few."""
    k = rank_of_bound(len(numbers), confidence)
    ranked = sorted(numbers)
    return (ranked[k - 1], ranked[-k]) if k else None


def verdict(bounds):
    """Of a ratio of times, hoop's over another's."""
    if bounds is None or bounds[0] <= 1 <= bounds[1]:
        return UNKNOWN
    return FASTER if bounds[1] < 1 else SLOWER


def rating(own, other, without=None):
    """The median of its times over our own in the rounds of both, except one;
    None if there are none."""
    times = [us / own[turn] for turn, us in other.items()
             if turn in own and turn != without]
    return median(times) if times else None


def best(own, others, turn=None):
    """The name of the fastest of {name: {round: us}}, by all rounds but this
    one, in which it must have taken part; None if there is no other."""
    rated = [(number, name) for name, times in others.items()
             if (turn is None or turn in times) and
             (number := rating(own, times, turn)) is not None]
    return min(rated)[1] if rated else None


def ratios(own, others):
    """{round: own time over that of the best other}, of {round: us} and
    {name: {round: us}}. Whose time counts in a round is decided by the other
    rounds, so nobody counts because luck made it fast in this one; only where
    there are no others it is the fastest."""
    found = {}
    for turn, us in own.items():
        name = best(own, others, turn)
        if name is None:
            name = best({turn: us}, others)
        if name is not None:
            found[turn] = us / others[name][turn]
    return found
