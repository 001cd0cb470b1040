"""tests/style/mirrors.py - a test that has a source file's name lies at its mirrored path, and all are built

tests/unit/<folder>/<file>_test.c belongs to <folder>/<file>.c, or to a header of that
name, or to several files of that folder. Every source is listed in the meson.build of
its folder or of one above, and so is every test.
"""

import re


def is_listed(tree, path):
    """Whether a meson.build beside or above path holds its name."""
    folder, name = path.rsplit('/', 1)
    stems = (name, name.removesuffix('.c'), name.removesuffix('_test.c'))
    while folder:
        build = tree.texts.get(folder + '/meson.build', '')
        if any(re.search(r"'(?:[\w/]*/)?" + re.escape(stem) + "'", build)
               for stem in stems):
            return True
        folder = folder.rpartition('/')[0]
    return False


def complaints(tree):
    for path, text in tree.c_files('common', 'worker', 'server'):
        if path.endswith('.c') and not is_listed(tree, path):
            yield f'{path}: in no meson.build'
    known = {path.rpartition('/')[0] for path, _ in tree.c_files()}
    for path, _ in tree.c_files('tests'):
        if not path.endswith('_test.c'):
            continue
        if not is_listed(tree, path):
            yield f'{path}: in no meson.build, so it never runs'
        folder = path.removeprefix('tests/unit/').rpartition('/')[0]
        if path.startswith('tests/unit/') and folder not in known:
            yield f'{path}: there is no folder {folder}'


SOURCE = {'common/base/a.c': '/* base/a.c - a */\n',
          'common/base/meson.build': "files('a.c')\n"}
TEST = {'tests/unit/common/base/a_test.c': '',
        'tests/unit/common/base/meson.build': "['a', 'b']\n"}

GOOD = [
    SOURCE | TEST,
    SOURCE,
]
BAD = [
    (SOURCE | TEST | {'common/base/meson.build': "files('aa.c')\n"},
     'common/base/a.c: in no meson.build'),
    (SOURCE | TEST | {'tests/unit/common/base/meson.build': ''},
     'so it never runs'),
    (SOURCE | {'tests/unit/common/bass/b_test.c': '',
               'tests/unit/common/bass/meson.build': "['b']\n"},
     'there is no folder common/bass'),
]
