"""tests/count.py - a run of meson's tests as one line

count.py TESTLOG STATUS: STATUS is how building and testing ended. A run that
failed before or beside its tests, or left no log, counts as one that failed, so
that no line says "0 failed" of a broken run.
"""

import json
import sys

PASSED = ('OK', 'EXPECTEDFAIL')


def results(path):
    try:
        with open(path, encoding='utf-8') as log:
            return [json.loads(line)['result'] for line in log]
    except FileNotFoundError:
        return ['no log']


def closing_line(found, status):
    passed = sum(result in PASSED for result in found)
    skipped = found.count('SKIP')
    failed = len(found) - passed - skipped
    if status != 0 and failed == 0:
        failed = 1
    line = f'{passed} passed, {failed} failed'
    return f'{line}, {skipped} skipped' if skipped else line


if __name__ == '__main__':
    print(closing_line(results(sys.argv[1]), int(sys.argv[2])))
