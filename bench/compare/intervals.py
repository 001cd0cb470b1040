"""bench/compare/intervals.py - what can be said of a ratio measured in rounds

The interval is that of Wilcoxon's signed-rank test of the logarithms. It takes
the rounds to be independent, and the logarithms to be as often above their
middle by some number as below it by that; nothing else of how they are
distributed. docs/decisions/0032-comparison-by-rounds.md says why it is so.
"""

from math import exp, log
from statistics import median

CONFIDENCE = 0.95
FASTER, SLOWER, UNKNOWN = 'faster', 'slower', 'not to be told'


def rank_sum_counts(n):
    """Of the 2 ** n sets of the numbers from 1 to n, how many have each sum."""
    counts = [1]
    for rank in range(1, n + 1):
        counts = [(counts[total] if total < len(counts) else 0) +
                  (counts[total - rank] if total >= rank else 0)
                  for total in range(len(counts) + rank)]
    return counts


def rank_of_bound(n, confidence=CONFIDENCE):
    """k, so that the k-th smallest and the k-th largest mean of two of n
    numbers (or of one with itself) are the bounds of an interval that holds
    the middle of their distribution at least that often; 0 if n is too small
    for any.

    The middle is below the k-th smallest if the ranks of the numbers below it,
    by their distance from it, add up to less than k."""
    below, k = 0, 0
    for count in rank_sum_counts(n):
        below += count
        if 1 - 2 * below / 2 ** n < confidence:
            break
        k += 1
    return k


def pair_means(ratios):
    """The geometric means of all pairs, and the ratios, in their order."""
    logs = [log(ratio) for ratio in ratios]
    return sorted(exp((left + right) / 2) for at, left in enumerate(logs)
                  for right in logs[at:])


def middle(ratios):
    """The estimate that belongs to the interval (Hodges and Lehmann)."""
    return median(pair_means(ratios))


def interval(ratios, confidence=CONFIDENCE):
    """(low, high), which holds the middle of what the ratios are drawn from;
    None if they are too few."""
    k = rank_of_bound(len(ratios), confidence)
    means = pair_means(ratios)
    return (means[k - 1], means[-k]) if k else None


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
