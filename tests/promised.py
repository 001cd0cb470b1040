"""tests/promised.py - every promise was shown by a test that ran and passed

promised.py TREE BUILD TESTLOG: docs/promises.md names tests for each promise
(tests/style/promises.py checks that they are there). Here TESTLOG, which meson
has written of a whole run, must say that each of them ran, and passed: by the
line of its own where it is a case of cmocka, else by that of the program or
script that it is part of. What was skipped is told and is no failure: networks
and containers are not everywhere.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                'style'))

import promises  # noqa: E402: it stands in another folder

PASSED = ('OK', 'EXPECTEDFAIL')
CASE = re.compile(r'^\[\s*(OK|SKIPPED|FAILED)\s*\] (\w+)', re.M)


def sources(build, tree):
    """The programs that are made of a source, as the log may name them: from the
    root, or, as arguments of a script, from the build folder. {path: [program]}."""
    found = {}
    with open(f'{build}/meson-info/intro-targets.json',
              encoding='utf-8') as targets:
        for target in json.load(targets):
            for part in target['target_sources']:
                for source in part.get('sources', []):
                    path = os.path.relpath(source, tree)
                    found.setdefault(path, []).extend(
                        target['filename'] +
                        [os.path.relpath(name, build)
                         for name in target['filename']])
    return found


class Run:
    """What a log says of each test."""

    def __init__(self, records, tree, programs):
        self.records = records
        self.tree = tree
        self.programs = programs

    def of(self, path):
        """The records of the tests that path is part of."""
        words = {os.path.join(self.tree, path), *self.programs.get(path, [])}
        # A script that is an argument is named by way of the build folder.
        return [record for record in self.records
                if words.intersection(map(os.path.normpath,
                                          record['command']))]


def is_case(text, name):
    """cmocka calls it, and says how it ended."""
    return re.search(rf'\b\w*(?:unit_test|TEST)\w*\(\s*{name}\b', text)


def case_results(records, name):
    return {result for record in records
            for result, case in CASE.findall(record.get('stdout', ''))
            if case == name}


def outcome(run, path, name, text):
    """'passed', 'skipped', or what is wrong."""
    records = run.of(path)
    results = {record['result'] for record in records}
    if not records:
        return 'did not run'
    if name and path.endswith('.c') and is_case(text, name):
        cases = case_results(records, name)
        if 'FAILED' in cases:
            return 'failed'
        if 'OK' in cases:
            return 'passed'
        if 'SKIPPED' in cases or results == {'SKIP'}:
            return 'skipped'
        return 'did not run'
    if results & set(PASSED):
        return 'failed' if results - {*PASSED, 'SKIP'} else 'passed'
    return 'skipped' if results == {'SKIP'} else 'failed'


def judge(page, texts, run):
    """(path, name, outcome) of each test that a promise names, once."""
    seen = set()
    for _, cells in promises.rows(page):
        for path, names in promises.named(cells[1]):
            for name in names or [None]:
                if (path, name) in seen:
                    continue
                seen.add((path, name))
                yield path, name, outcome(run, path, name,
                                          texts.get(path, ''))


def main(tree, build, testlog):
    tree, build = os.path.abspath(tree), os.path.abspath(build)
    with open(testlog, encoding='utf-8') as log:
        records = [json.loads(line) for line in log]
    with open(os.path.join(tree, promises.PAGE), encoding='utf-8') as file:
        page = file.read()
    texts = {}
    for path in re.findall(r'`([^`]+/[^`]+\.c)`', page):
        with open(os.path.join(tree, path), encoding='utf-8') as file:
            texts[path] = file.read()
    found = list(judge(page, texts, Run(records, tree, sources(build, tree))))
    for path, name, what in found:
        if what != 'passed':
            print(f'! promised: {path}{f": {name}" if name else ""}: {what}')
    n_passed = sum(what == 'passed' for _, _, what in found)
    n_skipped = sum(what == 'skipped' for _, _, what in found)
    print(f'promises: {n_passed} of {len(found)} tests ran and passed, '
          f'{n_skipped} skipped')
    return n_passed + n_skipped == len(found)


if __name__ == '__main__':
    sys.exit(0 if main(*sys.argv[1:4]) else 1)
