"""tests/style/tops.py - the first line of a file says path - purpose

A path is written from the folder that is searched for includes: base/log.h
for common/base/log.h, hoop/coll.h for include/hoop/coll.h.
"""

import re

ROOTS = ('include/', 'common/', 'worker/', 'server/', 'tools/',
         'examples/')


def first_words(path, lines):
    """The line that must name the path, without the comment's marks."""
    if path.endswith(('.c', '.h')):
        at = 1 if lines[0] == '/*' and len(lines) > 1 else 0
        return re.sub(r'^(/\*| \*)\s*', '', lines[at])
    at = 1 if lines[0].startswith('#!') and len(lines) > 1 else 0
    return re.sub(r'^(# |""")', '', lines[at])


def names_of(path):
    yield path
    for root in ROOTS:
        if path.startswith(root):
            yield path[len(root):]


def complaints(tree):
    for path, text in tree.texts.items():
        if not path.endswith(('.c', '.h', '.py', '.sh')):
            continue
        first = first_words(path, text.split('\n'))
        if not any(re.match(re.escape(name) + r' - \S', first)
                   for name in names_of(path)):
            yield f'{path}: does not begin with "path - purpose"'


GOOD = [
    {'common/base/log.h': '/* base/log.h - levels and lines */\n'},
    {'common/base/log.c': '/*\n * base/log.c - one line a message\n */\n'},
    {'tests/a_test.c': '/* tests/a_test.c - a.c */\n'},
    {'deploy/a.sh': '#!/bin/sh\n# deploy/a.sh - installs\n'},
    {'tests/style/a.py': '"""tests/style/a.py - a rule\n'},
]
BAD = [
    ({'common/base/log.h': '#ifndef A\n'}, 'does not begin'),
    ({'common/base/log.h': '/* net/log.h - levels */\n'}, 'does not begin'),
    ({'common/base/log.h': '/* base/log.h */\n'}, 'does not begin'),
    ({'common/base/log.h': ''}, 'does not begin'),
    ({'tests/a_test.c': '/* a_test.c - a.c */\n'}, 'does not begin'),
    ({'deploy/a.sh': '#!/bin/sh\nset -e\n'}, 'does not begin'),
]
