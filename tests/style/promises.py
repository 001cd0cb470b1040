"""tests/style/promises.py - every promise names a test, and every test is there

docs/promises.md has tables of promises. The second cell of a row has files in
backticks and behind each, after a colon, the tests in it that show the promise:
functions of C or Python, or nothing where a script is one test. The file must be
in the tree, define them, and be named by a meson.build below tests/.
"""

import os
import re

PAGE = 'docs/promises.md'
TICKED = re.compile(r'`([^`]+)`')


def rows(text):
    """(line number, cells) of each row of a table of promises."""
    is_inside = False
    for number, line in enumerate(text.split('\n'), 1):
        cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
        if not line.startswith('|'):
            is_inside = False
        elif cells[0] == 'promise':
            is_inside = True
        elif is_inside and not set(cells[0]) <= set('-: '):
            yield number, cells


def named(cell):
    """(path, [tests]) in the order of the cell; tests before a path have None."""
    found = []
    for word in TICKED.findall(cell):
        if '/' in word:
            found.append((word, []))
        elif found:
            found[-1][1].append(word)
        else:
            found.append((None, [word]))
    return found


def defines(path, text, name):
    """A function of the file."""
    form = {'.c': r'^{}\(', '.py': r'^\s*(?:def|class) {}\b'}
    suffix = os.path.splitext(path)[1]
    return suffix in form and re.search(form[suffix].format(re.escape(name)),
                                        text, re.M)


def is_run(tree, path):
    """A meson.build of the tests has it, whole or without its ending."""
    stem = re.sub(r'(_test)?\.\w+$', '', path.rsplit('/', 1)[-1])
    words = re.compile(rf"'(?:\w+/)*{re.escape(stem)}(?:_test)?(?:\.\w+)?'")
    return any(words.search(text) for build, text in tree.texts.items()
               if build.startswith('tests/') and build.endswith('meson.build'))


def row_complaints(tree, cells):
    tests = named(cells[1]) if len(cells) > 1 else []
    if not tests:
        yield f'no test of "{cells[0]}"'
    for path, names in tests:
        if path is None:
            yield f'{names[0]} is in no file'
            continue
        text = tree.texts.get(path)
        if text is None:
            yield f'there is no {path}'
            continue
        if not is_run(tree, path):
            yield f'nobody runs {path}'
        if not names and path.endswith('.c'):
            yield f'which test of {path}?'
        for name in names:
            if not defines(path, text, name):
                yield f'{path} has no {name}'


def complaints(tree):
    for number, cells in rows(tree.texts.get(PAGE, '')):
        for complaint in row_complaints(tree, cells):
            yield f'{PAGE}:{number}: {complaint}'


def page(cell):
    return {PAGE: f'| promise | shown by |\n|---|---|\n| it flies | {cell} |\n'}


FILES = {'tests/unit/fly_test.c': 'static void\nbird_flies(void **state)\n{\n',
         'tests/fault/fly_check.py': 'def judge(bird):\n',
         'tests/meson.build': "foreach name : ['fly', 'fly_check.py']\n"}
GOOD = [
    page('`tests/unit/fly_test.c`: `bird_flies`; `tests/fault/fly_check.py`') |
    FILES,
    page('`tests/fault/fly_check.py`: `judge`') | FILES,
    {PAGE: '| who | what |\n|---|---|\n| all | nothing |\n'},
]
BAD = [
    (page('') | FILES, ':3: no test of "it flies"'),
    (page('`bird_flies`') | FILES, 'bird_flies is in no file'),
    (page('`tests/unit/swim_test.c`: `bird_flies`') | FILES,
     'there is no tests/unit/swim_test.c'),
    (page('`tests/unit/fly_test.c`: `bird_flie`') | FILES,
     'tests/unit/fly_test.c has no bird_flie'),
    (page('`tests/fault/fly_check.py`: `hear`') | FILES,
     'tests/fault/fly_check.py has no hear'),
    (page('`tests/unit/fly_test.c`') | FILES, 'which test of'),
    (page('`tests/unit/fly_test.c`: `bird_flies`') | FILES |
     {'tests/meson.build': "['flying']\n"}, 'nobody runs tests/unit/fly_test.c'),
]
