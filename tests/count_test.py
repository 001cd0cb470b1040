"""tests/count_test.py - tests/count.py"""

import os
import tempfile
import unittest

from count import closing_line, results


class ClosingLine(unittest.TestCase):
    def test_all_good_is_passed(self):
        self.assertEqual(closing_line(['OK', 'EXPECTEDFAIL'], 0),
                         '2 passed, 0 failed')

    def test_skips_are_appended(self):
        self.assertEqual(closing_line(['OK', 'SKIP'], 0),
                         '1 passed, 0 failed, 1 skipped')

    def test_everything_else_has_failed(self):
        self.assertEqual(
            closing_line(['FAIL', 'TIMEOUT', 'ERROR', 'UNEXPECTEDPASS'], 1),
            '0 passed, 4 failed')

    def test_broken_build_counts_as_one(self):
        self.assertEqual(closing_line(['OK'], 1), '1 passed, 1 failed')


class Results(unittest.TestCase):
    def test_missing_log_is_a_failure(self):
        missing = results('/nowhere/testlog.json')
        self.assertEqual(closing_line(missing, 0), '0 passed, 1 failed')

    def test_one_result_a_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'log')
            with open(path, 'w', encoding='utf-8') as log:
                log.write('{"name": "a", "result": "OK"}\n'
                          '{"name": "b", "result": "SKIP"}\n')
            self.assertEqual(results(path), ['OK', 'SKIP'])


if __name__ == '__main__':
    unittest.main()
