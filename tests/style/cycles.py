"""tests/style/cycles.py - files of a folder do not call each other in circles

An edge leads from a file to each file of the same folder whose function it
calls; a header counts as its source. Functions are found by universal-ctags,
calls by their names: a function that is only handed over is not called.
KNOWN lists the folders that still have a larger circle, with its size: a
number there may only fall.
"""

import re
import shutil
import sys

from sizes import functions
from tree import without_comments

FILES = 3
KNOWN = {
    'worker/engine/failure': 8,
}
CALL = re.compile(r'\b([A-Za-z_]\w*)\s*\(')


def module_of(path):
    return path.rsplit('.', 1)[0].removesuffix('.tmpl')


def folder_of(path):
    return path.rsplit('/', 1)[0]


def call_graph(tree, paths):
    """module -> {module of the same folder that it calls: name of a callee}"""
    bodies = []
    owners = {}  # (folder, name) -> modules that define it
    for path, name, first, n_lines, _ in functions(tree.root, paths):
        bodies.append((path, name, first, n_lines))
        owners.setdefault((folder_of(path), name), set()).add(module_of(path))
    lines = {path: without_comments(tree.texts[path]).split('\n')
             for path in paths}
    graph = {module_of(path): {} for path in paths}
    for path, _, first, n_lines in bodies:
        caller = module_of(path)
        text = '\n'.join(lines[path][first:first - 1 + n_lines])
        for callee in CALL.findall(text):
            found = owners.get((folder_of(path), callee), set())
            if len(found) == 1 and caller not in found:
                graph[caller].setdefault(*found, callee)
    return graph


def circles(graph):
    """The strongly connected components of two or more modules (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for called in graph[module]:
            if called not in index:
                visit(called)
                low[module] = min(low[module], low[called])
            elif called in stack:
                low[module] = min(low[module], index[called])
        if low[module] == index[module]:
            at = stack.index(module)
            circle = stack[at:]
            del stack[at:]
            if len(circle) > 1:
                found.append(sorted(circle))

    for module in graph:
        if module not in index:
            visit(module)
    return found


def complaints(tree):
    if not shutil.which('ctags'):
        print('skipped: universal-ctags is not installed')
        sys.exit(77)
    paths = [path for path, _ in tree.c_files('common', 'worker', 'server')]
    graph = call_graph(tree, paths)
    for circle in circles(graph):
        folder = folder_of(circle[0])
        allowed = KNOWN.get(folder, FILES)
        if len(circle) > allowed:
            calls = ', '.join(
                f'{module.rsplit("/", 1)[1]} calls {callee}()'
                for module in circle
                for called, callee in graph[module].items()
                if called in circle)
            yield (f'{folder}: {len(circle)} files call each other in a '
                   f'circle, more than {allowed}: {calls}')


def _ring(n_files):
    return {f'worker/a/f{i}.c': f'void f{(i + 1) % n_files}(void);\n'
            f'void f{i}(void)\n{{\n    f{(i + 1) % n_files}();\n}}\n'
            for i in range(n_files)}


GOOD = [
    _ring(3),
    # A callback that is handed over is not a call.
    _ring(4) | {'worker/a/f0.c': 'void f1(void);\nvoid f0(void)\n{\n'
                '    set_handler(f1);\n}\n'},
    # A function of the same name in another folder is another one.
    _ring(4) | {'worker/a/f0.c': 'void f0(void)\n{\n    f1();\n}\n'
                'static void f1(void)\n{\n}\n'},
    # A comment calls nothing.
    _ring(4) | {'worker/a/f0.c': 'void f0(void)\n{\n    /* f1() */\n}\n'},
]
BAD = [
    (_ring(4), 'worker/a: 4 files call each other in a circle, more than 3'),
    (_ring(5) | {'worker/a/f0.c': 'void f0(void)\n{\n}\n',
                 'worker/a/f0.h': 'static inline void g(void)\n{\n'
                 '    f1();\n}\n'}, 'f4 calls f0()'),
]
