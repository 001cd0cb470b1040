"""tests/unit/bench/compare/intervals_test.py - what is said of ratios in rounds

Expected values are counted over all outcomes, drawn from known distributions,
or taken from tables of the sign test.
"""

import itertools
import math
import os
import random
import sys
import unittest
from statistics import median

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../../../bench/compare'))

# pylint: disable=wrong-import-position
import intervals


def share_held(n, k):
    """Of all signs that the numbers of ranks 1 to n can have, those in which
    the sums of the positive and of the negative ranks are at least k: then
    zero is between the k-th smallest mean of two and the k-th largest."""
    held = 0
    for signs in itertools.product((0, 1), repeat=n):
        above = sum(rank for rank, sign in enumerate(signs, 1) if sign)
        held += k <= above <= n * (n + 1) // 2 - k
    return held / 2 ** n


class Bounds(unittest.TestCase):
    def test_rank_is_the_largest_that_holds_often_enough(self):
        for n in range(1, 14):
            k = intervals.rank_of_bound(n)
            if k:
                self.assertGreaterEqual(share_held(n, k), 0.95, n)
            self.assertLess(share_held(n, k + 1), 0.95, n)

    def test_ranks_are_those_of_tables(self):
        # Critical values of the signed-rank test, two-sided, 5 %; plus one.
        known = {5: 0, 6: 1, 7: 3, 8: 4, 9: 6, 10: 9, 12: 14, 15: 26, 20: 53,
                 25: 90}
        self.assertEqual({n: intervals.rank_of_bound(n) for n in known},
                         known)

    def test_interval_is_of_means_of_pairs(self):
        # Powers of two: means of pairs are powers of the root of two.
        ratios = [2.0 ** power for power in range(6)]
        self.assertEqual(intervals.interval(ratios), (1, 32))
        self.assertAlmostEqual(intervals.middle(ratios), 2 ** 2.5)
        low, high = intervals.interval([2.0 ** power for power in range(7)])
        # 0, 0.5, 1: the third smallest of the exponents' means.
        self.assertAlmostEqual(low, 2)
        self.assertAlmostEqual(high, 2 ** 5)
        self.assertIsNone(intervals.interval([1, 2, 3, 4, 5]))

    def test_truth_is_held_as_often_as_counted(self):
        dice = random.Random(7)
        draws = {'normal': lambda: dice.gauss(0, 0.3),
                 'uniform': lambda: dice.uniform(-0.2, 0.2),
                 'two exponentials':
                     lambda: dice.expovariate(5) - dice.expovariate(5)}
        for name, draw in draws.items():
            held = sum(low <= 1.5 <= high for low, high in (
                intervals.interval([1.5 * math.exp(draw()) for _ in range(10)])
                for _ in range(3000)))
            # Exactly 0.9512 of them: 3000 draws are within 0.015.
            self.assertAlmostEqual(held / 3000, share_held(10, 9), delta=0.015,
                                   msg=name)

    def test_one_bad_round_of_twelve_does_not_count(self):
        ratios = [0.8, 0.82, 0.78, 0.81, 0.79, 0.83, 0.77, 0.8, 0.8, 0.79,
                  0.81, 30]
        self.assertLess(intervals.interval(ratios)[1], 1)
        self.assertLess(intervals.middle(ratios), 0.83)


class Verdicts(unittest.TestCase):
    def test_verdict_needs_an_interval_beside_one(self):
        self.assertEqual(intervals.verdict((0.8, 0.99)), 'faster')
        self.assertEqual(intervals.verdict((1.01, 3)), 'slower')
        for bounds in ((0.9, 1.1), (1, 1.2), (0.9, 1), None):
            self.assertEqual(intervals.verdict(bounds), 'not to be told')

    def test_equal_times_are_told_apart_in_one_of_twenty(self):
        dice = random.Random(11)
        told = 0
        for _ in range(2000):
            own = {turn: dice.lognormvariate(0, 0.2) for turn in range(10)}
            other = {turn: dice.lognormvariate(0, 0.2) for turn in range(10)}
            found = intervals.ratios(own, {'other': other})
            told += intervals.verdict(
                intervals.interval(list(found.values()))) != 'not to be told'
        self.assertAlmostEqual(told / 2000, 0.05, delta=0.02)


def by_hand(own, others):
    """As ratios(), written down once more from its description."""
    found = {}
    for turn in own:
        rated = {}
        for name, times in others.items():
            rest = [times[t] / own[t] for t in own if t != turn and t in times]
            if rest and turn in times:
                rated[name] = sorted(rest)[len(rest) // 2] if len(rest) % 2 \
                    else sum(sorted(rest)[len(rest) // 2 - 1:][:2]) / 2
        if rated:
            chosen = min(rated, key=rated.get)
            found[turn] = own[turn] / others[chosen][turn]
    return found


class Best(unittest.TestCase):
    def test_lucky_round_does_not_count_for_its_rival(self):
        own = dict.fromkeys(range(1, 11), 10.0)
        steady = dict.fromkeys(range(1, 11), 10.0)
        lucky = {**dict.fromkeys(range(1, 11), 12.0), 4: 1.0}
        found = intervals.ratios(own, {'steady': steady, 'lucky': lucky})
        self.assertEqual(found, dict.fromkeys(range(1, 11), 1.0))

    def test_ratios_are_those_by_hand(self):
        dice = random.Random(3)
        for _ in range(50):
            own = {turn: dice.uniform(1, 2) for turn in range(8)}
            others = {name: {turn: dice.uniform(1, 2) for turn in range(8)
                             if dice.random() < 0.8} for name in 'abcd'}
            for turn, ratio in by_hand(own, others).items():
                self.assertAlmostEqual(
                    intervals.ratios(own, others)[turn], ratio)

    def test_best_of_many_equals_is_no_faster_than_one(self):
        """The least of eight equal rivals in each round would make hoop look
        slower by a third."""
        dice = random.Random(5)
        found, least = [], []
        for _ in range(300):
            own = {turn: dice.lognormvariate(0, 0.2) for turn in range(10)}
            others = {name: {turn: dice.lognormvariate(0, 0.2)
                             for turn in range(10)} for name in range(8)}
            found.append(median(intervals.ratios(own, others).values()))
            least.append(median(us / min(times[turn]
                                         for times in others.values())
                                for turn, us in own.items()))
        self.assertAlmostEqual(median(found), 1, delta=0.03)
        self.assertGreater(median(least), 1.25)

    def test_rival_that_left_counts_only_while_it_was_there(self):
        own = dict.fromkeys(range(1, 7), 10.0)
        others = {'gone': {1: 5.0, 2: 5.0}, 'there': dict.fromkeys(own, 8.0)}
        self.assertEqual(intervals.ratios(own, others),
                         {1: 2, 2: 2, 3: 1.25, 4: 1.25, 5: 1.25, 6: 1.25})

    def test_only_round_is_compared_with_its_fastest(self):
        self.assertEqual(intervals.ratios({1: 6.0}, {'a': {1: 3.0},
                                                     'b': {1: 2.0}}), {1: 3})

    def test_round_without_a_rival_has_no_ratio(self):
        self.assertEqual(intervals.ratios({1: 1.0, 2: 1.0}, {}), {})
        self.assertIsNone(intervals.best({1: 1.0}, {'other': {2: 1.0}}))


if __name__ == '__main__':
    unittest.main()
