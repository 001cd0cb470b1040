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
NEAR_16 = 'hoop,tcp,allreduce,2,16,8.00,7.00,1.0,1.0,15.00,near'
UNWATCHED = 'hoop,tcp,allreduce,2,16,8.00,7.00,1.0,1.0,15.00,'
OTHER = 'openmpi,tcp,allreduce,2,8,9.00,8.00,1.0,1.0,18.00,near'


CASE = cases.Case('tcp', 2, 'hoop', 'tcp', ('allreduce', 'barrier'),
                  '8:1x1,16:1x1', ())


class Bench(measure.Bench):
    """Whose programs print what is given, one text for each start."""

    def __init__(self, folder, texts, is_watching):
        super().__init__(argparse.Namespace(build=folder, results=folder))
        self.texts = list(texts)
        self.is_watching = is_watching

    def is_watched(self, case):
        return self.is_watching

    def state(self):
        return 'far'

    def start(self, case):
        return self.texts.pop(0), 0.5

    def say(self, text):
        pass


def rows_kept(*texts, is_watching=True):
    """(state, time) of what a run's file has; how many texts are left."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, texts, is_watching)
        bench.measure(CASE, 1)
        bench.file.close()
        bench.errors.close()
        with open(bench.file.name, encoding='utf-8') as file:
            rows = [(row['state'], float(row['median_us']))
                    for row in csv.DictReader(file)]
        return rows, len(bench.texts)


class Keeping(unittest.TestCase):
    def test_rows_say_the_state_of_their_batches(self):
        rows, _ = rows_kept(f'{NEAR}\n{NEAR_16}\n{FAR}\n')
        self.assertEqual(rows, [('near', 7.5), ('near', 8), ('far', 21)])

    def test_rows_that_nobody_watched_have_the_state_of_the_case(self):
        rows, _ = rows_kept(UNWATCHED, is_watching=False)
        self.assertEqual(rows, [('far', 8)])

    def test_only_whole_rows_of_the_peer_are_kept(self):
        text = f'{OTHER}\nsome warning\n{NEAR[:-9]}\n{NEAR}\n{NEAR_16}'
        self.assertEqual(len(rows_kept(text)[0]), 2)

    def test_case_that_is_half_near_is_not_done_again(self):
        self.assertEqual(rows_kept(f'{NEAR}\n{NEAR_16}', NEAR)[1], 1)

    def test_case_that_is_far_is_done_again_and_each_row_kept_once(self):
        rows, n_left = rows_kept(FAR, f'{FAR}\n{NEAR}\n{NEAR_16}', NEAR)
        self.assertEqual(rows, [('far', 21), ('near', 7.5), ('near', 8)])
        self.assertEqual(n_left, 1)

    def test_case_of_which_nothing_is_left_is_done_again(self):
        self.assertEqual(rows_kept('', '', '', NEAR), ([], 1))


class Schedules(unittest.TestCase):
    def test_tenth_shortens_only_long_batches(self):
        self.assertEqual(cases.tenth('8:500x7,1M:2x5'), '8:50x7,1M:2x5')

    def test_fewer_leaves_two_thirds_of_the_batches_and_one_at_least(self):
        self.assertEqual(cases.fewer('8:600x9,64M:1x2,256M:1x1'),
                         '8:600x6,64M:1x1,256M:1x1')


if __name__ == '__main__':
    unittest.main()
