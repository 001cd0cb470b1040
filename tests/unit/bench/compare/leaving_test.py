"""tests/unit/bench/compare/leaving_test.py - who is not measured any more"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../../../bench/compare'))

# pylint: disable=wrong-import-position
import leaving
from results import Run, Table

IMPI, GLOO, HOOP = ('impi', 'tcp'), ('gloo', 'tcp-ring'), ('hoop', 'tcp')
RING, DOUBLING = ('sockets', 'ring-spin'), ('sockets', 'doubling-spin')


def table(times):
    """Of {variant: us of each round; None where it has none}, at 8 bytes."""
    made = Table(Run('run', 'commit', '0'))
    for (peer, transport), rounds in times.items():
        for turn, us in enumerate(rounds, 1):
            if us is not None:
                made.add({'peer': peer, 'transport': transport, 'bytes': '8',
                          'median_us': str(us), 'cpu_us': '0',
                          'round': str(turn)})
    return made


def has_left(variant, *tables, before=None):
    return leaving.has_left(tables, 8, variant, before)


class Leaving(unittest.TestCase):
    def test_rival_twice_behind_in_three_rounds_leaves(self):
        made = table({IMPI: (10, 10, 10), GLOO: (21, 25, 30)})
        self.assertTrue(has_left(GLOO, made))
        self.assertFalse(has_left(IMPI, made))

    def test_rival_once_within_twice_stays(self):
        self.assertFalse(has_left(GLOO, table({IMPI: (10, 10, 10, 10),
                                               GLOO: (21, 20, 30, 30)})))

    def test_two_rounds_are_too_few(self):
        made = table({IMPI: (10, 10, 10), GLOO: (21, 25, 30)})
        self.assertFalse(has_left(GLOO, made, before=3))
        self.assertTrue(has_left(GLOO, made, before=4))

    def test_rival_far_behind_leaves_after_two(self):
        made = table({IMPI: (10, 10), GLOO: (61, 99)})
        self.assertFalse(has_left(GLOO, made, before=2))
        self.assertTrue(has_left(GLOO, made, before=3))
        self.assertFalse(has_left(GLOO, table({IMPI: (10, 10),
                                               GLOO: (59, 99)})))

    def test_later_rounds_bring_nobody_back(self):
        made = table({IMPI: (10,) * 5, GLOO: (30, 30, 30, 9, 9)})
        self.assertTrue(has_left(GLOO, made))

    def test_hoop_stays_and_nobody_is_compared_with_it(self):
        made = table({HOOP: (1, 1, 1), IMPI: (10, 10, 10)})
        self.assertFalse(has_left(IMPI, made))
        made = table({HOOP: (99, 99, 99), IMPI: (10, 10, 10)})
        self.assertFalse(has_left(HOOP, made))

    def test_states_are_compared_apart(self):
        near = table({IMPI: (10, 10, 10)})
        far = table({GLOO: (50, 50, 50)})
        self.assertFalse(has_left(GLOO, near, far))
        far = table({IMPI: (30, 30, 30), GLOO: (50, 50, 50)})
        self.assertFalse(has_left(GLOO, near, far))

    def test_limits_are_compared_with_each_other(self):
        made = table({IMPI: (1, 1, 1), RING: (10, 10, 10),
                      DOUBLING: (30, 30, 30)})
        self.assertFalse(has_left(RING, made))
        self.assertTrue(has_left(DOUBLING, made))

    def test_three_failures_are_enough_and_a_success_ends_them(self):
        self.assertFalse(leaving.has_given_up(['failed'] * 2, 'ok'))
        self.assertTrue(leaving.has_given_up(['failed'] * 3, 'ok'))
        self.assertFalse(leaving.has_given_up(['failed', 'ok', 'failed'],
                                              'ok'))


if __name__ == '__main__':
    unittest.main()
