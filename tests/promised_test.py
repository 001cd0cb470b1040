"""tests/promised_test.py - tests/promised.py"""

import json
import os
import tempfile
import unittest

from promised import Run, judge, sources

PAGE = ('| promise | shown by |\n|---|---|\n'
        '| it flies | `tests/bird_test.c`: `bird_flies`, `wing_length`; '
        '`tests/fly_check.py`: `judge` |\n')
TEXTS = {'tests/bird_test.c': 'static int\nwing_length(void)\n{\n'
                              'cmocka_unit_test(bird_flies),\n'}


def record(command, result, stdout=''):
    return {'command': command.split(), 'result': result, 'stdout': stdout}


def outcomes(*records):
    run = Run(list(records), '/tree', {'tests/bird_test.c': ['/b/bird_test']})
    return [what for _, _, what in judge(PAGE, TEXTS, run)]


class Judge(unittest.TestCase):
    def test_what_ran_and_passed_is_passed(self):
        self.assertEqual(
            outcomes(record('/b/bird_test', 'OK', '[       OK ] bird_flies\n'),
                     record('/tree/tests/fly_check.py', 'OK')),
            ['passed', 'passed', 'passed'])

    def test_what_nobody_ran_is_missed(self):
        self.assertEqual(outcomes(record('/b/other_test', 'OK')),
                         ['did not run'] * 3)

    def test_case_that_its_program_leaves_out_is_missed(self):
        self.assertEqual(
            outcomes(record('/b/bird_test', 'OK', '[       OK ] other\n'),
                     record('/tree/tests/fly_check.py', 'OK'))[0],
            'did not run')

    def test_case_that_fails_is_failed(self):
        self.assertEqual(
            outcomes(record('/b/bird_test', 'FAIL',
                            '[  FAILED  ] bird_flies\n'))[:2],
            ['failed', 'failed'])

    def test_script_that_fails_is_failed(self):
        self.assertEqual(
            outcomes(record('/tree/tests/fly_check.py', 'TIMEOUT'))[2],
            'failed')

    def test_script_is_known_as_an_argument_by_way_of_the_build_folder(self):
        self.assertEqual(
            outcomes(record('/venv/python3 -B /tree/b/../tests/fly_check.py '
                            'tool/bird --high', 'OK'))[2],
            'passed')

    def test_skips_are_told(self):
        self.assertEqual(
            outcomes(record('/b/bird_test', 'OK',
                            '[  SKIPPED ] bird_flies\n'),
                     record('/tree/tests/fly_check.py', 'SKIP')),
            ['skipped', 'passed', 'skipped'])

    def test_one_build_of_several_that_passes_the_case_is_enough(self):
        self.assertEqual(
            outcomes(record('/b/bird_test', 'OK', '[  SKIPPED ] bird_flies\n'),
                     record('/b/bird_test', 'OK', '[       OK ] bird_flies\n'),
                     record('/tree/tests/fly_check.py', 'OK'))[0],
            'passed')


class Sources(unittest.TestCase):
    def test_program_is_known_by_both_its_names(self):
        with tempfile.TemporaryDirectory() as build:
            os.mkdir(f'{build}/meson-info')
            with open(f'{build}/meson-info/intro-targets.json', 'w',
                      encoding='utf-8') as targets:
                json.dump([{'filename': [f'{build}/tests/bird'],
                            'target_sources': [
                                {'sources': ['/tree/tests/bird.c']}]}], targets)
            self.assertEqual(
                sources(build, '/tree'),
                {'tests/bird.c': [f'{build}/tests/bird', 'tests/bird']})


if __name__ == '__main__':
    unittest.main()
