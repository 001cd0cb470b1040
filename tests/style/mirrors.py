"""tests/style/mirrors.py - every source file has its test at the mirrored path

Or says in its top comment "No test of its own: " and why. Every test is
listed in the meson.build of its folder, every source in the one of its.
"""

import re

EXCUSE = re.compile(r'No\s+test\s+of\s+its\s+own:\s+\w')


def top_comment(text):
    found = re.match(r'\s*/\*.*?\*/', text, re.S)
    return found.group(0).replace('\n *', ' ') if found else ''


def test_of(path):
    return 'tests/unit/' + re.sub(r'(\.tmpl)?\.c$', '_test.c', path)


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
        if not path.endswith('.c'):
            continue
        if test_of(path) not in tree.texts and not EXCUSE.search(
                top_comment(text)):
            yield f'{path}: no {test_of(path)}, and no word why'
        if not is_listed(tree, path):
            yield f'{path}: in no meson.build'
    for path, _ in tree.c_files('tests'):
        if path.endswith('_test.c') and not is_listed(tree, path):
            yield f'{path}: in no meson.build, so it never runs'


SOURCE = {'common/base/a.c': '/* base/a.c - a */\n',
          'common/base/meson.build': "files('a.c')\n"}
TEST = {'tests/unit/common/base/a_test.c': '',
        'tests/unit/common/base/meson.build': "['a', 'b']\n"}

GOOD = [
    SOURCE | TEST,
    SOURCE | {'common/base/a.c': '/*\n * base/a.c - a\n *\n'
              ' * No test\n * of its own: one line.\n */\n'},
]
BAD = [
    (SOURCE, 'common/base/a.c: no tests/unit/common/base/a_test.c'),
    (SOURCE | {'common/base/a.c': '/* a */\n/* No test of its own: x */\n'},
     'and no word why'),
    (SOURCE | {'common/base/a.c': '/* a. No test of its own: */\n'},
     'and no word why'),
    (SOURCE | TEST | {'common/base/meson.build': "files('aa.c')\n"},
     'common/base/a.c: in no meson.build'),
    (SOURCE | TEST | {'tests/unit/common/base/meson.build': ''},
     'so it never runs'),
]
