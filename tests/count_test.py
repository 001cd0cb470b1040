"""tests/count_test.py - tests/count.py"""

import os
import tempfile
import unittest

from count import closing_line, failures, tests


def of(*results):
    return [{'name': f't{i}', 'result': result}
            for i, result in enumerate(results)]


class ClosingLine(unittest.TestCase):
    def test_all_good_is_passed(self):
        self.assertEqual(closing_line(of('OK', 'EXPECTEDFAIL'), 0),
                         '2 passed, 0 failed')

    def test_skips_are_appended(self):
        self.assertEqual(closing_line(of('OK', 'SKIP'), 0),
                         '1 passed, 0 failed, 1 skipped')

    def test_everything_else_has_failed(self):
        self.assertEqual(
            closing_line(of('FAIL', 'TIMEOUT', 'ERROR', 'UNEXPECTEDPASS'), 1),
            '0 passed, 4 failed')

    def test_broken_build_counts_as_one(self):
        self.assertEqual(closing_line(of('OK'), 1), '1 passed, 1 failed')


class Failures(unittest.TestCase):
    def test_only_what_failed_is_told(self):
        self.assertEqual(list(failures(of('OK', 'FAIL', 'SKIP'))),
                         ['! t1: FAIL'])

    def test_with_how_long_it_took_and_the_end_of_its_output(self):
        told = list(failures([{
            'name': 'a', 'result': 'TIMEOUT', 'duration': 60.04,
            'stdout': 'first\n', 'stderr': 'line\n' * 20}]))
        self.assertEqual(told, ['! a: TIMEOUT after 60.0 s'] +
                         ['!   line'] * 20)


class Tests(unittest.TestCase):
    def test_missing_log_is_a_failure(self):
        missing = tests('/nowhere/testlog.json')
        self.assertEqual(closing_line(missing, 0), '0 passed, 1 failed')
        self.assertEqual(list(failures(missing)), [])

    def test_one_test_a_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'log')
            with open(path, 'w', encoding='utf-8') as log:
                log.write('{"name": "a", "result": "OK"}\n'
                          '{"name": "b", "result": "SKIP"}\n')
            self.assertEqual([test['name'] for test in tests(path)],
                             ['a', 'b'])


if __name__ == '__main__':
    unittest.main()
