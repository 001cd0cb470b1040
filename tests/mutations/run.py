#!/usr/bin/env python3
"""tests/mutations/run.py - plant known defects, one at a time, and say which
test finds each

run.py [--only TEXT] [--suite SUITE]... [--list] FOLDER

The tree as it is committed is checked out into FOLDER; a FOLDER of an earlier
run is brought up to date. Each defect of mutations.py is planted, and tests
run until one fails: first the unit test of the file's own name, then those of
its folder, then the suites unit, sim and fuzz, then integration. Only tests
whose programs contain the file run, and only their programs are built.
The test that failed runs a second time; if it passes then, the line says so,
because on a busy machine a test may fail for another reason.

A defect may take --seconds; a defect without an answer by then counts as not
found, as one that no test finds. On a busy machine --timeout-multiplier gives
each test more time. FOLDER stays, for whoever wants to look; remove it with
`git worktree remove --force FOLDER`.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from mutations import MUTATIONS

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = ['unit', 'sim', 'fuzz', 'integration']


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **more)


def must_run(command, folder):
    done = run(command, folder)
    if done.returncode != 0:
        sys.exit(f'{" ".join(command)} failed:\n{done.stdout[-3000:]}')
    return done.stdout


class Build:
    """FOLDER, built, and what ninja and meson know about it."""

    def __init__(self, folder, options):
        self.folder = folder
        self.options = options
        head = must_run(['git', 'rev-parse', 'HEAD'], ROOT).strip()
        if folder.exists():
            must_run(['git', 'checkout', '--force', '--detach', head], folder)
        else:
            must_run(['git', 'worktree', 'add', '--detach', str(folder), head],
                     ROOT)
            must_run(['meson', 'setup', 'build', '-Dpython=disabled'], folder)
        programs = {target['id']: target['filename'] for target in
                    self.introspect('--targets')}
        self.tests = [
            {'name': test['name'], 'suite': test['suite'][0].split(':')[-1],
             'programs': {os.path.relpath(name, folder / 'build')
                          for depend in test['depends']
                          for name in programs[depend]}}
            for test in self.introspect('--tests')]
        self.tests = [test for test in self.tests
                      if test['suite'] in (options.suite or SUITES)]
        self.inputs = {}

    def introspect(self, what):
        return json.loads(must_run(['meson', 'introspect', 'build', what],
                                   self.folder))

    def contains(self, program, path):
        """Whether program is built from path, or from the folder of a header."""
        if program not in self.inputs:
            self.inputs[program] = must_run(
                ['ninja', '-C', 'build', '-t', 'inputs', program],
                self.folder).split()
        wanted = f'../{os.path.dirname(path) if path.endswith(".h") else path}'
        return any(name.startswith(wanted) for name in self.inputs[program])

    def stages(self, path):
        """Lists of tests to try, the likeliest to find a defect first."""
        folder = pathlib.PurePath('tests/unit', path).parent
        programs = set().union(*(test['programs'] for test in self.tests))
        while folder.name and not any(name.startswith(f'{folder}/')
                                      for name in programs):
            folder = folder.parent
        own = f'{folder}/{pathlib.PurePath(path).stem}_test'
        stages = [[], [], [], []]
        for test in self.tests:
            names = test['programs']
            if not any(self.contains(name, path) for name in names):
                continue
            if own in names:
                stages[0].append(test)
            elif any(name.startswith(f'{folder}/') for name in names):
                stages[1].append(test)
            else:
                stages[3 if test['suite'] in ('integration', 'fault')
                       else 2].append(test)
        return [stage for stage in stages if stage]

    def build(self, names):
        """Whether the programs of the tests of these names compile."""
        programs = set().union(*(test['programs'] for test in self.tests
                                 if test['name'] in names))
        return run(['ninja', '-C', 'build', '-j2', *sorted(programs)],
                   self.folder).returncode == 0

    def run_tests(self, names, seconds):
        """The result of each test that failed; None: out of time."""
        command = ['meson', 'test', '-C', 'build', '--no-rebuild',
                   '--maxfail', '1', '--num-processes', '2',
                   '--timeout-multiplier', str(self.options.timeout_multiplier)]
        for suite in self.options.suite or SUITES:
            command += ['--suite', suite]
        # Ended by a signal, meson also ends the tests that it started.
        testing = subprocess.Popen([*command, *names], cwd=self.folder,
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            testing.wait(max(seconds, 1))
        except subprocess.TimeoutExpired:
            testing.terminate()
            testing.wait()
            return None
        log = self.folder / 'build/meson-logs/testlog.json'
        results = [json.loads(line) for line in log.read_text().splitlines()]
        return {test['name']: test['result'].lower()
                for test in results if test['result'] not in
                ('OK', 'SKIP', 'EXPECTEDFAIL', 'INTERRUPT')}

    def find(self, path):
        """Whether the defect planted in path was found, and words about it."""
        until = time.monotonic() + self.options.seconds
        for stage in self.stages(path):
            names = sorted({test['name'] for test in stage})
            if not self.build(names):
                return False, 'DOES NOT COMPILE'
            failed = self.run_tests(names, until - time.monotonic())
            if failed is None:
                return False, f'NO ANSWER within {self.options.seconds} s'
            for full_name, result in failed.items():
                name = re.split(r'[:/ ]+', full_name)[-1]
                again = self.run_tests([name], self.options.seconds)
                unsure = ', then passed' if again == {} else ''
                return True, f'{name} ({result}{unsure})'
        return False, 'NOT FOUND'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', 1)[0])
    parser.add_argument('folder', type=pathlib.Path, nargs='?')
    parser.add_argument('--only', default='', metavar='TEXT',
                        help='defects whose file or description has TEXT')
    parser.add_argument('--suite', action='append', choices=[*SUITES, 'fault'],
                        help='instead of unit, sim, fuzz and integration')
    parser.add_argument('--seconds', type=int, default=600,
                        help='for the tests of one defect')
    parser.add_argument('--timeout-multiplier', type=int, default=1)
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    chosen = [row for row in MUTATIONS
              if options.only in row[0] or options.only in row[3]]
    if options.list or not options.folder:
        for path, _, _, what in chosen:
            print(f'{path}: {what}')
        return 0
    build = Build(options.folder.resolve(), options)
    n_missed = 0
    for path, old, new, what in chosen:
        source = build.folder / path
        text = source.read_text()
        source.write_text(text.replace(old, new))
        begin = time.monotonic()
        is_found, words = build.find(path)
        source.write_text(text)
        n_missed += not is_found
        print(f'{path}: {what}: {words}, {time.monotonic() - begin:.0f} s',
              flush=True)
    print(f'{len(chosen) - n_missed} of {len(chosen)} defects found')
    return 1 if n_missed else 0


if __name__ == '__main__':
    sys.exit(main())
