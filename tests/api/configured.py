"""tests/api/configured.py - what is compiled for whom

configured.py SOURCE BUILD MESON...: neither a released build, as README has it
for installing, nor one with -Dtests=false has tests in it or looks for the
libraries that only they need. BUILD, whose test this is, does.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

BUILDS = (
    ('-Dbuildtype=release',),
    ('-Dbuildtype=debugoptimized', '-Dtests=false'),
)
OF_TESTS = ('cmocka', 'nng')


def info(build, name):
    return json.loads(
        (pathlib.Path(build) / 'meson-info' / f'intro-{name}.json').read_text())


def of_tests(source, build):
    """What there is of tests, by name."""
    for target in info(build, 'targets'):
        place = pathlib.Path(target['defined_in']).relative_to(source)
        if place.parts[0] == 'tests':
            yield target['name']
    for dependency in info(build, 'dependencies'):
        if dependency['name'] in OF_TESTS:
            yield dependency['name']


def complaints(source, build, meson):
    before = []
    for options in BUILDS:
        done = subprocess.run([*meson, 'setup', *before, *options, build,
                               source], capture_output=True, text=True)
        before = ['--reconfigure']
        if done.returncode != 0:
            yield f'{options}: {done.stdout}{done.stderr}'
            return
        found = list(of_tests(source, build))
        if found:
            yield f'{options}: of tests: {found}'


def main():
    source, own, *meson = sys.argv[1:]
    source = pathlib.Path(source).resolve()
    if not {'nothing_test', 'cmocka'}.issubset(of_tests(source, own)):
        print(f'{own} seems to have no tests')
        return True
    with tempfile.TemporaryDirectory() as build:
        found = list(complaints(source, build, meson))
    for complaint in found:
        print(complaint)
    return len(found) > 0


if __name__ == '__main__':
    sys.exit(main())
