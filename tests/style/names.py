"""tests/style/names.py - the tables of names know every public function

docs/names.md has each function that a program calls to move data or to make
communicators, and names none that does not exist; nor does docs/seeds.md.
"""

import re

# Their calls have no counterpart elsewhere.
APART = {'control.h', 'coordinator.h', 'dtype.h', 'recorder.h', 'simulate.h',
         'status.h', 'tuning.h'}
DECLARED = re.compile(r'HOOP_API[^;]*?\b(hoop_\w+)\(', re.S)
NAMED = re.compile(r'`(hoop_\w+)(?:\(\))?`')
TABLES = ('docs/names.md', 'docs/seeds.md')


def functions(tree):
    """Public function -> header."""
    found = {}
    for path, text in tree.c_files('include'):
        for name in DECLARED.findall(text):
            found[name] = path
    return found


def complaints(tree):
    public = functions(tree)
    for page in TABLES:
        text = tree.texts.get(page)
        if text is None:
            continue
        for number, line in enumerate(text.split('\n'), 1):
            for name in NAMED.findall(line):
                if name not in public and not name.endswith('_t'):
                    yield f'{page}:{number}: there is no {name}'
    if 'docs/names.md' not in tree.texts:
        return
    named = set(NAMED.findall(tree.texts['docs/names.md']))
    for name, header in public.items():
        if header.rsplit('/', 1)[-1] in APART:
            continue
        if name.removesuffix('_start') not in named:
            yield f'docs/names.md: has no row for {name} of {header}'


HEADER = 'HOOP_API HOOP_NODISCARD enum hoop_status\nhoop_turn(int a);\n'
GOOD = [
    {'include/hoop/coll.h': HEADER + HEADER.replace('turn', 'turn_start'),
     'docs/names.md': '| `hoop_turn` | `hoop_op_t` |\n'},
    {'include/hoop/control.h': HEADER, 'docs/names.md': ''},
]
BAD = [
    ({'include/hoop/coll.h': HEADER, 'docs/names.md': '\n'},
     'has no row for hoop_turn'),
    ({'include/hoop/coll.h': HEADER,
      'docs/names.md': '`hoop_turn`\n`hoop_twist()`\n'},
     'docs/names.md:2: there is no hoop_twist'),
    ({'include/hoop/coll.h': HEADER, 'docs/seeds.md': '| `hoop_twist` |\n'},
     'docs/seeds.md:1: there is no hoop_twist'),
]
