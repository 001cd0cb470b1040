"""tests/style/mutations.py - the list of planted defects follows the code

Every defect of tests/mutations names a text that occurs once in its file.
"""

import ast

LIST = 'tests/mutations/mutations.py'


def rows(text):
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == 'MUTATIONS':
            return ast.literal_eval(node.value)
    return []


def complaints(tree):
    found = rows(tree.texts.get(LIST, ''))
    if not found:
        yield f'{LIST}: no list of defects'
    for path, old, new, what in found:
        n_places = tree.texts.get(path, '').count(old)
        if n_places != 1:
            yield f'{LIST}: "{what}": {n_places} places in {path}, not 1'
        elif old == new:
            yield f'{LIST}: "{what}": nothing changes'


def _list(old, new):
    return {LIST: f'MUTATIONS = [("worker/a.c", "{old}", "{new}", "a defect")]\n',
            'worker/a.c': 'int a = 1;\nint b = 1;\n'}


GOOD = [_list('a = 1', 'a = 2')]
BAD = [
    (_list('= 1', '= 2'), '"a defect": 2 places in worker/a.c, not 1'),
    (_list('c = 1', 'c = 2'), '"a defect": 0 places in worker/a.c, not 1'),
    (_list('a = 1', 'a = 1'), 'nothing changes'),
    ({'worker/a.c': ''}, 'no list of defects'),
]
