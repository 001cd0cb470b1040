"""tests/style/references.py - a file that a document names exists

A path in backticks, with a folder and a suffix, as `base/log.h`.
"""

import re

ROOTS = ('', 'include/', 'common/', 'worker/', 'server/', 'tools/')
PATH = re.compile(r'`((?:[\w.-]+/)+[\w.-]+'
                  r'\.(?:c|h|md|py|sh|yaml|conf|build|csv))`')


def complaints(tree):
    for path, text in tree.texts.items():
        if not path.endswith('.md'):
            continue
        for number, line in enumerate(text.split('\n'), 1):
            for name in PATH.findall(line):
                name = name.removeprefix('./')
                if not any(root + name in tree.texts for root in ROOTS):
                    yield f'{path}:{number}: there is no {name}'


GOOD = [
    {'docs/a.md': 'see `base/log.h`, `hoop/*.h`, `<path>/a_test.c`\n',
     'common/base/log.h': ''},
    {'README.md': '`./docs/a.md`\n', 'docs/a.md': ''},
]
BAD = [
    ({'docs/a.md': '\nsee `base/log.h`\n'}, 'docs/a.md:2: there is no base/log'),
    ({'README.md': '`docs/b.md`\n'}, 'README.md:1: there is no docs/b.md'),
]
