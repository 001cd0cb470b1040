"""tests/unit/bench/compare/measure_test.py - rows on their way into a run"""

import argparse
import csv
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../../../bench/compare'))

# pylint: disable=wrong-import-position
import cases  # noqa: E402
import measure  # noqa: E402

NEAR = 'hoop,tcp,allreduce,2,8,7.50,7.00,1.0,1.0,15.00,near'
FAR = 'hoop,tcp,allreduce,2,8,21.00,20.00,1.0,1.0,42.00,far'
UNWATCHED = 'hoop,tcp,allreduce,2,16,8.00,7.00,1.0,1.0,15.00,'
OTHER = 'openmpi,tcp,allreduce,2,8,9.00,8.00,1.0,1.0,18.00,near'


def rows_kept(text, state):
    """What a run's file has of a case of hoop that printed text."""
    case = cases.Case('tcp', 2, 'hoop', 'tcp', ('allreduce',), '8:1x1', ())
    with tempfile.TemporaryDirectory() as folder:
        bench = measure.Bench(
            argparse.Namespace(build=folder, results=folder))
        bench.keep(case, 1, state, text, 0.5)
        bench.file.close()
        bench.errors.close()
        with open(bench.file.name, encoding='utf-8') as file:
            return list(csv.DictReader(file))


class Keeping(unittest.TestCase):
    def test_rows_say_the_state_of_their_batches(self):
        rows = rows_kept(f'{NEAR}\n{FAR}\n', 'far')
        self.assertEqual([(row['state'], row['median_us']) for row in rows],
                         [('near', '7.50'), ('far', '21.00')])

    def test_rows_that_nobody_watched_have_the_state_of_the_case(self):
        self.assertEqual(rows_kept(UNWATCHED, 'far')[0]['state'], 'far')

    def test_only_whole_rows_of_the_peer_are_kept(self):
        text = f'{OTHER}\nsome warning\n{NEAR[:-9]}\n{NEAR}\n'
        self.assertEqual(len(rows_kept(text, 'near')), 1)


class Nearness(unittest.TestCase):
    def test_case_with_near_batches_of_half_its_rows_is_enough(self):
        self.assertTrue(measure.is_mostly_near(f'{NEAR}\n{FAR}\n{UNWATCHED}'))

    def test_case_whose_rows_are_far_is_not(self):
        self.assertFalse(measure.is_mostly_near(FAR))


class Schedules(unittest.TestCase):
    def test_tenth_shortens_only_long_batches(self):
        self.assertEqual(cases.tenth('8:500x7,1M:2x5'), '8:50x7,1M:2x5')


if __name__ == '__main__':
    unittest.main()
