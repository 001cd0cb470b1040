"""tests/style/formatting.py - clang-format changes nothing

Also for every text: no tabs but where they belong, no blanks at the end of a
line, one newline at the end of a file.
"""

import os
import shutil
import subprocess
import sys

TABBED = ('Makefile', '.mk', '.tsv')
SHIPPED = ('docs/', 'examples/data/')  # texts of others keep their form


def text_complaints(path, text):
    for number, line in enumerate(text.split('\n'), 1):
        if line != line.rstrip():
            yield f'{path}:{number}: blanks at the end of the line'
        if '\t' in line and not path.endswith(TABBED):
            yield f'{path}:{number}: a tab'
    if text and (not text.endswith('\n') or text.endswith('\n\n')):
        yield f'{path}: does not end with one newline'


def complaints(tree):
    for path, text in tree.texts.items():
        if not path.startswith(SHIPPED):
            yield from text_complaints(path, text)
    if not shutil.which('clang-format'):
        print('skipped: clang-format is not installed')
        sys.exit(77)
    paths = [path for path, _ in tree.c_files()]
    if not paths:
        return
    here = os.path.dirname(os.path.abspath(__file__))
    style = os.path.join(here, '..', '..', '.clang-format')
    output = subprocess.run(
        ['clang-format', f'--style=file:{style}', '--dry-run', *paths],
        text=True, capture_output=True, check=False, cwd=tree.root).stderr
    for line in output.splitlines():
        if 'warning:' in line or 'error:' in line:
            yield line


GOOD = [
    {'common/base/a.c': 'int\na(void)\n{\n    return 0;\n}\n'},
    {'deploy/Makefile': 'all:\n\ttrue\n'},
]
BAD = [
    ({'common/base/a.c': 'int a(void) { return 0; }\n'}, 'a.c:1:'),
    ({'common/base/a.c': 'int a;\n\n\n\nint b;\n'}, 'a.c:1:'),
    ({'deploy/a.sh': 'a \n'}, 'a.sh:1: blanks'),
    ({'deploy/a.sh': 'a\tb\n'}, 'a.sh:1: a tab'),
    ({'deploy/a.sh': 'a'}, 'one newline'),
    ({'deploy/a.sh': 'a\n\n'}, 'one newline'),
]
