#!/usr/bin/env python3
"""tests/mutations/run.py - plant known defects, one at a time, and say which
test finds each

run.py [--only TEXT] [--suite SUITE]... [--list] FOLDER

The tree as it is committed is checked out into FOLDER, which must not exist,
and built there once. Each defect of mutations.py is then planted, built, and
the suites (unit, sim, integration) run until a test fails. A defect that no
test finds is the only thing reported as a failure. FOLDER stays, for whoever
wants to look; remove it with `git worktree remove --force FOLDER`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

from mutations import MUTATIONS

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = ['unit', 'sim', 'integration']
TEST_SECONDS = 1200


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **more)


def must_run(command, folder):
    done = run(command, folder)
    if done.returncode != 0:
        sys.exit(f'{" ".join(command)} failed:\n{done.stdout[-3000:]}')


def first_failing_test(folder):
    """The name of a test that failed in the last run; None: none did."""
    log = folder / 'build/meson-logs/testlog.json'
    for line in log.read_text().splitlines():
        test = json.loads(line)
        if test['result'] not in ('OK', 'SKIP', 'EXPECTEDFAIL'):
            return f'{test["name"]} ({test["result"].lower()})'
    return None


def finds(folder, suites):
    """Which test finds the defect that is planted in folder; None: none."""
    # Warnings are no errors here: a defect may leave a variable unused.
    built = run(['ninja', '-C', 'build', '-j2'], folder)
    if built.returncode != 0:
        return 'the compiler'
    command = ['meson', 'test', '-C', 'build', '--no-rebuild', '--maxfail', '1']
    for suite in suites:
        command += ['--suite', suite]
    try:
        run(command, folder, timeout=TEST_SECONDS)
    except subprocess.TimeoutExpired:
        return f'nothing ended within {TEST_SECONDS} s'
    return first_failing_test(folder)


def prepare(folder):
    must_run(['git', 'worktree', 'add', '--detach', str(folder), 'HEAD'], ROOT)
    must_run(['meson', 'setup', 'build', '-Dpython=disabled',
              '-Dwerror=false'], folder)
    must_run(['ninja', '-C', 'build', '-j2'], folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', 1)[0])
    parser.add_argument('folder', type=pathlib.Path, nargs='?')
    parser.add_argument('--only', default='', metavar='TEXT',
                        help='defects whose file or description has TEXT')
    parser.add_argument('--suite', action='append', choices=[*SUITES, 'fault', 'fuzz'],
                        help='instead of unit, sim and integration')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    chosen = [row for row in MUTATIONS
              if options.only in row[0] or options.only in row[3]]
    if options.list or not options.folder:
        for path, _, _, what in chosen:
            print(f'{path}: {what}')
        return 0
    folder = options.folder.resolve()
    prepare(folder)
    n_missed = 0
    for path, old, new, what in chosen:
        source = folder / path
        text = source.read_text()
        source.write_text(text.replace(old, new))
        begin = time.monotonic()
        found = finds(folder, options.suite or SUITES)
        source.write_text(text)
        n_missed += found is None
        print(f'{path}: {what}: {found or "NOT FOUND"}, '
              f'{time.monotonic() - begin:.0f} s', flush=True)
    print(f'{len(chosen) - n_missed} of {len(chosen)} defects found')
    return 1 if n_missed else 0


if __name__ == '__main__':
    sys.exit(main())
