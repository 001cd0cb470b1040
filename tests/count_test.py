"""tests/count_test.py - tests/count.py"""

import os
import tempfile
import unittest

from count import closing_line, failures, pytest_line, tests


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


class PytestLine(unittest.TestCase):
    def test_cases_of_all_files_are_added(self):
        outputs = ['..s  [100%]\n2 passed, 1 skipped in 0.50s\n',
                   '[  OK ] case\n3 passed in 4s, and more\n',
                   '=== 1 failed, 3 passed in 61.02s (0:01:01) ===\n']
        self.assertEqual(pytest_line([{'stdout': text} for text in outputs]),
                         '5 passed, 1 skipped, 1 failed')

    def test_nothing_is_told_without_any(self):
        self.assertIsNone(pytest_line(of('OK')))


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
