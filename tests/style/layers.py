"""tests/style/layers.py - nothing includes upward or sideways

The table is the one in docs/ARCHITECTURE.md.
"""

from tree import includes, markdown_rows

DOCUMENT = 'docs/ARCHITECTURE.md'
ROOTS = ('include/', 'common/', 'worker/', 'server/', 'tools/',
         'examples/')


class Layer:
    def __init__(self, cells):
        self.level = int(cells[0].lstrip('L'))
        self.folder = cells[1]
        self.allowed, _, excepted = cells[3].partition(' except ')
        self.allowed = self.allowed.split()
        self.excepted = excepted.split()
        self.side = self.folder.split('/')[0]


def layers(tree):
    rows = markdown_rows(tree.texts.get(DOCUMENT, ''), 'layer')
    return {row[1]: Layer(row) for row in rows}


def layer_of(path, table):
    """The layer of the deepest folder of the table that holds path."""
    folder = path
    while '/' in folder:
        folder = folder.rsplit('/', 1)[0]
        if folder in table:
            return table[folder]
    return None


def target_of(tree, path, name):
    """The path a quoted include means, None if no file of ours is meant."""
    beside = path.rsplit('/', 1)[0] + '/' + name
    for candidate in [root + name for root in ROOTS] + [beside, name]:
        if candidate in tree.texts:
            return candidate
    return None


def may_include(layer, target):
    if target is layer or target.folder == 'include/hoop':
        return True
    if target.folder.rsplit('/', 1)[-1] in layer.excepted:
        return False
    if layer.allowed == ['below']:
        sides = {layer.side, target.side}
        return target.level < layer.level and sides != {'worker', 'server'}
    return target.folder.rsplit('/', 1)[-1] in layer.allowed


def table_faults(table):
    if len(table) < 2:
        yield f'{DOCUMENT}: no layer table'
    for layer in table.values():
        for name in layer.allowed + layer.excepted:
            if name not in ('below', 'hoop') and not any(
                    other.folder.endswith('/' + name) and
                    other.level < layer.level for other in table.values()):
                yield f'{DOCUMENT}: {name} is not below {layer.folder}'


def complaints(tree):
    table = layers(tree)
    yield from table_faults(table)
    for path, text in tree.c_files():
        if path.startswith('tests/') or path.startswith('docs/'):
            continue
        layer = layer_of(path, table)
        if not layer:
            yield f'{path}: its folder is not in the layer table'
            continue
        for number, name, quoted in includes(text):
            target = target_of(tree, path, name)
            if not target:
                if quoted:
                    yield f'{path}:{number}: no file "{name}" in the tree'
                continue
            aim = layer_of(target, table)
            if aim and not may_include(layer, aim):
                yield (f'{path}:{number}: {layer.folder} (L{layer.level}) '
                       f'includes {aim.folder} (L{aim.level})')


TABLE = '''
| layer | folder | holds | may include |
|-------|--------|-------|-------------|
| L9 | tools | x | hoop |
| L7 | server | x | below |
| L8 | worker/api | x | below except model |
| L7 | worker/select | x | below |
| L6 | worker/engine | x | below |
| L6 | worker/model | x | plan |
| L5 | worker/plan | x | base |
| L5 | worker/transport | x | below |
| L5 | server/core | x | base |
| L1 | common/base | x | hoop |
| L0 | include/hoop | x | hoop |
'''
HEADERS = {
    DOCUMENT: TABLE,
    'include/hoop/hoop.h': '',
    'common/base/error.h': '#include <stdio.h>\n',
    'worker/engine/engine.h': '',
    'worker/model/simulation.h': '',
    'worker/select/estimate.h': '',
    'worker/plan/plan.h': '',
    'worker/transport/transport.h': '',
    'server/core/cluster.h': '',
}


def plus(path, text):
    return {**HEADERS, path: text}


GOOD = [
    HEADERS,
    plus('worker/engine/a.c', '#include "plan/plan.h"\n'
         '#include "transport/transport.h"\n#include "base/error.h"\n'),
    plus('tools/perf/a.c', '#include "hoop/hoop.h"\n#include "b.h"\n'
         ) | {'tools/perf/b.h': ''},
    plus('server/main.c', '#include "core/cluster.h"\n'),
    plus('worker/select/a.c', '#include "model/simulation.h"\n'),
    plus('worker/api/a.c', '#include "select/estimate.h"\n'),
]
BAD = [
    (plus('worker/plan/a.c', '#include "engine/engine.h"\n'),
     'worker/plan/a.c:1: worker/plan (L5) includes worker/engine (L6)'),
    (plus('worker/plan/a.c', '\n# include "transport/transport.h"\n'),
     'worker/plan/a.c:2: worker/plan (L5) includes worker/transport (L5)'),
    (plus('worker/transport/a.c', '#include "plan/plan.h"\n'),
     'worker/transport (L5) includes worker/plan (L5)'),
    (plus('worker/engine/a.c', '#include "core/cluster.h"\n'),
     'worker/engine (L6) includes server/core (L5)'),
    (plus('server/a.c', '#include "plan/plan.h"\n'),
     'server (L7) includes worker/plan (L5)'),
    (plus('worker/engine/a.c', '#include "../plan/plan.h"\n'),
     'no file "../plan/plan.h"'),
    (plus('tools/a.c', '#include "base/error.h"\n'),
     'tools (L9) includes common/base (L1)'),
    (plus('worker/api/a.c', '#include "model/simulation.h"\n'),
     'worker/api/a.c:1: worker/api (L8) includes worker/model (L6)'),
    ({DOCUMENT: TABLE.replace('except model', 'except models')},
     'models is not below worker/api'),
    (plus('include/hoop/a.h', '#include <base/error.h>\n'),
     'include/hoop (L0) includes common/base (L1)'),
    (plus('common/misc/a.c', ''), 'its folder is not in the layer table'),
    ({DOCUMENT: ''}, 'no layer table'),
    ({DOCUMENT: TABLE.replace('| L1 |', '| L6 |')},
     'base is not below worker/plan'),
]
