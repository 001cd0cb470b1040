"""tests/sweep_test.py - tests/sweep.py"""

import os
import re
import unittest
from unittest import mock

import sweep


class Part(unittest.TestCase):
    TESTS = ['collectives', 'messages', 'mismatch_pairs', 'hoopd_join']

    def test_same_text_is_the_same_part(self):
        parts = [list(sweep.part_of(self.TESTS, list(sweep.PATHS), text))
                 for text in ('a', 'a', 'b')]
        self.assertEqual(parts[0], parts[1])
        self.assertNotEqual(parts[0], parts[2])

    def test_every_path_has_its_turn_with_short_tests(self):
        part = list(sweep.part_of(self.TESTS, list(sweep.PATHS), 'a'))
        self.assertEqual({path for path, _ in part}, set(sweep.PATHS))
        for _, tests in part:
            self.assertEqual(set(tests), {'collectives', 'messages'})


class Environment(unittest.TestCase):
    def test_only_the_path_says_settings(self):
        given = {'HOOP_CODEC': 'zstd', 'HOOP_REQUIRE_NETNS': '1', 'PATH': '/'}
        with mock.patch.dict(os.environ, given, clear=True):
            self.assertEqual(
                sweep.environment('tcp'),
                {'HOOP_REQUIRE_NETNS': '1', 'PATH': '/',
                 'HOOP_FAILURE_TIMEOUT': '10',
                 'HOOP_TRANSPORT': 'tcp', 'HOOP_TEST_TUNED': '1'})


class Table(unittest.TestCase):
    def test_cell_says_what_became_of_it(self):
        tests = ['collectives', 'hoopd_join', 'messages', 'storm']
        results = {('collectives', 'tcp'): 'OK',
                   ('messages', 'tcp'): 'FAIL',
                   ('messages', 'regions'): 'SKIP'}
        lines = sweep.table(results, tests, ['tcp', 'regions'])
        self.assertEqual(lines, ['a = tcp', 'b = regions',
                                 '            ab', 'collectives + ',
                                 'messages    Fs'])

    def test_reason_is_told_once_for_all_it_concerns(self):
        lines = list(sweep.reasons(['hoopd_join', 'hoopd_life', 'storm'],
                                   ['tcp']))
        self.assertEqual(len(lines), 1)
        self.assertIn('hoopd_join, hoopd_life: of the coordinator', lines[0])


class Names(unittest.TestCase):
    def test_paths_that_are_left_out_exist(self):
        for _, paths, why in sweep.NOT_APPLICABLE:
            self.assertTrue(any(re.fullmatch(paths, path)
                                for path in sweep.PATHS), why)


if __name__ == '__main__':
    unittest.main()
