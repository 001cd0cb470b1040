"""tests/style/words.py - words that the tree does without

No goto, no boolean parameters in headers (but one that is only carried and
called value), no file named after nothing, no unfinished-work marks, no typedef
of a struct inside.
"""

import re

from tree import without_comments

FILE_WORDS = {'util', 'utils', 'helper', 'helpers', 'misc', 'common',
              'stuff', 'types', 'manager'}
MARKS = re.compile(r'\b(TODO|FIXME|XXX|HACK)\b')
BOOLEAN = re.compile(r'(?<!sizeof\()\bbool\b(?!\s+value\b)\s*\w*\s*[,)]')
GOTO = re.compile(r'\bgoto\b')
STRUCT = re.compile(r'\btypedef\s+struct\b')


def line_complaints(path, line):
    if GOTO.search(line):
        yield 'goto: return early, let CLEANUP release'
    if STRUCT.search(line) and not path.startswith('include/'):
        yield 'typedef of a struct: write struct'
    if path.endswith('.h') and BOOLEAN.search(line):
        yield 'boolean parameter: two functions, or an enum'


def complaints(tree):
    for path, text in tree.texts.items():
        folders, name = ('/' + path).rsplit('/', 1)
        words = re.split(r'[_.\-]', name)
        inner = [f for f in folders.split('/')[2:] if f in FILE_WORDS - {
            'common'}]
        for word in FILE_WORDS.intersection(words).union(inner):
            yield f'{path}: "{word}" is no noun of hoop'
    for path, text in tree.c_files():
        for number, line in enumerate(text.split('\n'), 1):
            if MARKS.search(line):
                yield f'{path}:{number}: finish it, or leave it out'
        for number, line in enumerate(without_comments(text).split('\n'), 1):
            for complaint in line_complaints(path, line):
                yield f'{path}:{number}: {complaint}'


GOOD = [
    {'common/base/a.c': '/* goto is not used */\nlog("goto x");\n'},
    {'common/base/a.h': 'bool\na_is(int b);\nstruct a { bool is_b; };\n'
                        'void\na_pack(bool value);\n'
                        'enum { N = sizeof(bool) };\n'},
    {'include/hoop/a.h': 'typedef struct a a_t;\n'},
    {'tests/unit/common/base/a_test.c': ''},
    {'worker/tcp/send.c': '', 'worker/shm/send.c': ''},
]
BAD = [
    ({'common/base/a.c': 'x;\n    goto out;\n'}, 'a.c:2: goto'),
    ({'common/base/a.h': 'void\na(int b, bool is_c);\n'},
     'a.h:2: boolean parameter'),
    ({'common/base/a.h': 'void\na(bool, int b);\n'}, 'boolean parameter'),
    ({'common/base/a.c': 'typedef struct a {\n} a_t;\n'}, 'typedef'),
    ({'common/base/net_util.c': ''}, '"util" is no noun'),
    ({'common/base/helpers.h': ''}, '"helpers" is no noun'),
    ({'worker/misc/a.c': ''}, '"misc" is no noun'),
    ({'common/base/common.h': ''}, '"common" is no noun'),
    ({'common/base/a.c': '/* TO' + 'DO later */\n'}, 'a.c:1: finish it'),
]
