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
import intervals  # noqa: E402


def share_held(n, k):
    """Of all ways in which n numbers lie above or below the median, those in
    which it is between the k-th smallest and the k-th largest."""
    held = sum(k <= sum(signs) <= n - k
               for signs in itertools.product((0, 1), repeat=n))
    return held / 2 ** n


class Bounds(unittest.TestCase):
    def test_rank_is_the_largest_that_holds_often_enough(self):
        for n in range(1, 15):
            k = intervals.rank_of_bound(n)
            if k:
                self.assertGreaterEqual(share_held(n, k), 0.95, n)
            if k < n // 2:
                self.assertLess(share_held(n, k + 1), 0.95, n)

    def test_ranks_are_those_of_tables(self):
        # Two-sided, 5 %, of the sign test; plus one.
        known = {5: 0, 6: 1, 8: 1, 9: 2, 10: 2, 11: 2, 12: 3, 15: 4, 20: 6,
                 25: 8, 30: 10}
        self.assertEqual({n: intervals.rank_of_bound(n) for n in known},
                         known)

    def test_interval_is_of_order_statistics(self):
        self.assertEqual(
            intervals.interval([5, 9, 1, 8, 2, 7, 3, 6, 4, 10]), (2, 9))
        self.assertIsNone(intervals.interval([1, 2, 3, 4, 5]))

    def test_median_is_held_whatever_the_distribution(self):
        dice = random.Random(7)
        draws = {1.0: lambda: dice.lognormvariate(0, 0.3),
                 0.5: lambda: dice.random(),
                 math.log(2): lambda: dice.expovariate(1)}
        for true_median, draw in draws.items():
            held = sum(low <= true_median <= high for low, high in (
                intervals.interval([draw() for _ in range(10)])
                for _ in range(4000)))
            # Exactly 0.9785 of them: 4000 draws are within 0.01.
            self.assertAlmostEqual(held / 4000, 0.9785, delta=0.01)


class Verdicts(unittest.TestCase):
    def test_verdict_needs_an_interval_beside_one(self):
        self.assertEqual(intervals.verdict((0.8, 0.99)), 'faster')
        self.assertEqual(intervals.verdict((1.01, 3)), 'slower')
        for bounds in ((0.9, 1.1), (1, 1.2), (0.9, 1), None):
            self.assertEqual(intervals.verdict(bounds), 'not to be told')

    def test_equal_times_are_told_apart_rarely(self):
        dice = random.Random(11)
        told = 0
        for _ in range(2000):
            own = {turn: dice.lognormvariate(0, 0.2) for turn in range(10)}
            other = {turn: dice.lognormvariate(0, 0.2) for turn in range(10)}
            found = intervals.ratios(own, {'other': other})
            told += intervals.verdict(
                intervals.interval(list(found.values()))) != 'not to be told'
        self.assertLess(told / 2000, 0.04)


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
