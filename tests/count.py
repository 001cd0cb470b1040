"""tests/count.py - a run of meson's tests as one line, after what failed in it

count.py TESTLOG STATUS: STATUS is how building and testing ended. A run that
failed before or beside its tests, or left no log, counts as one that failed, so
that no line says "0 failed" of a broken run. What failed is told with the end of
its output, in lines that begin with "! ", which .ci/run tells again at its end.
A file of pytest's is one test, so the cases in all of them are told as well.
"""

import json
import re
import sys

PASSED = ('OK', 'EXPECTEDFAIL')
LINES_SHOWN = 20
NO_LOG = 'no log'  # building has failed, and said why


def tests(path):
    try:
        with open(path, encoding='utf-8') as log:
            return [json.loads(line) for line in log]
    except FileNotFoundError:
        return [{'name': '', 'result': NO_LOG}]


def failures(found):
    for test in found:
        if test['result'] in (*PASSED, 'SKIP', NO_LOG):
            continue
        duration = test.get('duration')
        after = f' after {duration:.1f} s' if duration else ''
        yield f'! {test["name"]}: {test["result"]}{after}'
        output = test.get('stdout', '') + test.get('stderr', '')
        for line in output.splitlines()[-LINES_SHOWN:]:
            yield f'!   {line}'


def pytest_line(found):
    """How the cases of pytest's files ended, or None where none ran."""
    ends = {}
    for test in found:
        # Its last line is of 12 passed, 1 skipped in 3.45s.
        last = re.search(r'^(?:=+ )?(\d.*) in [\d.]+s( \(.*\))?( =+)?\Z',
                         test.get('stdout', '').rstrip(), re.M)
        for n, end in re.findall(r'(\d+) (\w+)', last[1]) if last else ():
            ends[end] = ends.get(end, 0) + int(n)
    return ', '.join(f'{n} {end}' for end, n in ends.items()) or None


def closing_line(found, status):
    results = [test['result'] for test in found]
    passed = sum(result in PASSED for result in results)
    skipped = results.count('SKIP')
    failed = len(found) - passed - skipped
    if status != 0 and failed == 0:
        failed = 1
    line = f'{passed} passed, {failed} failed'
    return f'{line}, {skipped} skipped' if skipped else line


if __name__ == '__main__':
    ran = tests(sys.argv[1])
    for told in failures(ran):
        print(told)
    cases = pytest_line(ran)
    if cases:
        print(f'cases of pytest: {cases}')
    print(closing_line(ran, int(sys.argv[2])))
