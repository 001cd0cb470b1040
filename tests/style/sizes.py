"""tests/style/sizes.py - files, functions, parameter lists and structs stay small

Functions and members are found by universal-ctags. The public collectives keep
MPI's long positional order instead. A larger struct is grouped by who writes its
members, each group a struct of its own.
"""

import collections
import re
import shutil
import subprocess
import sys

FILE_LINES = 800
FUNCTION_LINES = 60
PARAMETERS = 5
MEMBERS = 35
POSITIONAL = ('worker/api/', 'worker/mesh/', 'worker/parameters/',
              'worker/pipeline/', 'worker/tensor_parallel/',
              'worker/data_parallel/', 'bindings/')


def tags(root, paths, kind, fields):
    """(path, name, {field: text}) of each tag of this kind."""
    output = subprocess.run(
        ['ctags', '-f', '-', '--languages=C', '--map-C=+.h',
         f'--kinds-C={kind}', f'--fields={fields}', '-L', '-'],
        input='\n'.join(paths), text=True, capture_output=True, check=True,
        cwd=root).stdout
    for row in output.splitlines():
        cells = row.split('\t')
        yield (cells[1], cells[0],
               dict(cell.split(':', 1) for cell in cells[3:] if ':' in cell))


def functions(root, paths):
    """(path, name, line, number of lines, signature) as ctags sees them."""
    for path, name, fields in tags(root, paths, 'f', 'neS'):
        if 'line' in fields and 'end' in fields:
            first, last = int(fields['line']), int(fields['end'])
            yield (path, name, first, last - first + 1,
                   fields.get('signature', '()'))


def count_parameters(signature):
    inner = re.sub(r'\([^()]*\)', '', signature[1:-1]).strip()
    inner = re.sub(r',\s*\.\.\.$', '', inner)
    return 0 if inner in ('', 'void') else inner.count(',') + 1


def complaints(tree):
    if not shutil.which('ctags'):
        print('skipped: universal-ctags is not installed')
        sys.exit(77)
    paths = []
    for path, text in tree.c_files():
        n_lines = text.count('\n')
        paths.append(path)
        if n_lines > FILE_LINES:
            yield f'{path}: {n_lines} lines, more than {FILE_LINES}'
    for path, name, line, n_lines, signature in functions(tree.root, paths):
        n_parameters = count_parameters(signature)
        if n_lines > FUNCTION_LINES:
            yield (f'{path}:{line}: {name} has {n_lines} lines, '
                   f'more than {FUNCTION_LINES}')
        is_public = name.startswith('hoop_') and path.startswith(POSITIONAL)
        if n_parameters > PARAMETERS and not is_public:
            yield (f'{path}:{line}: {name} has {n_parameters} parameters, '
                   f'more than {PARAMETERS}')

    sizes = collections.Counter(
        (path, fields['struct'])
        for path, _, fields in tags(tree.root, paths, 'm', 's')
        if 'struct' in fields)
    for (path, name), n_members in sizes.items():
        if n_members > MEMBERS:
            yield (f'{path}: struct {name} has {n_members} members, '
                   f'more than {MEMBERS}')


LONG = 'int\nlong_one(void)\n{\n' + '    x();\n' * 58 + '}\n'
WIDE = 'struct wide {\n' + ''.join(f'    int m{i};\n' for i in range(36)) + '};\n'
SIX = '(int a, int b, int c, void (*d)(int, int), int e, int f)\n{\n}\n'

GOOD = [
    {'common/base/a.c': LONG.replace('    x();\n', '', 1)},
    {'common/base/a.c': 'void\nf(int a, int b, int c, int d,'
                        ' void (*e)(int, int))\n{\n}\n'},
    {'common/base/a.c': 'void\nf(int a, int b, int c, int d, int e, ...)\n'
                        '{\n}\n'},
    {'worker/api/a.c': 'void\nhoop_f' + SIX},
    {'common/base/a.c': '\n' * 800},
    {'common/base/a.h': WIDE.replace('    int m0;\n', '')},
]
BAD = [
    ({'common/base/a.c': '\n' * 801}, '801 lines, more than 800'),
    ({'common/base/a.h': WIDE}, 'struct wide has 36 members'),
    ({'common/base/a.c': LONG}, 'a.c:2: long_one has 61 lines'),
    ({'common/base/a.h': 'static inline ' + LONG}, 'long_one has 61 lines'),
    ({'common/base/a.c': 'void\nf' + SIX}, 'f has 6 parameters'),
    ({'common/base/a.c': 'void\nhoop_f' + SIX}, 'hoop_f has 6 parameters'),
    ({'worker/api/a.c': 'static void\nf' + SIX}, 'f has 6 parameters'),
]
