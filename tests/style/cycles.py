"""tests/style/cycles.py - files of a folder do not call each other in circles,
and a folder calls few functions of the folder above it

An edge leads from a file to each file of the same folder whose function it
calls; a header counts as its source. Functions are found by universal-ctags,
calls by their names: a function that is only handed over is not called.
UPWARD lists all functions in sources of the folder above that a folder calls.
"""

import re
import shutil
import sys

from sizes import functions
from tree import without_comments

FILES = 3
UPWARD = {
    'worker/engine/failure': {
        # What engine/failure/operations.h names.
        'op_fail', 'op_fail_without_notice', 'progress_advance_ops',
        'shm_executor_awaited_rank', 'shm_executor_list_awaited',
        'shm_queue_mark_ready',
        # These only read, or write a text.
        'call_describe', 'call_describe_message', 'context_copy_name',
        'context_user_call_number', 'message_user_number',
        'op_member_world_rank',
    },
}
CALL = re.compile(r'\b([A-Za-z_]\w*)\s*\(')


def module_of(path):
    return path.rsplit('.', 1)[0].removesuffix('.tmpl')


def folder_of(path):
    return path.rsplit('/', 1)[0]


def calls_of(tree, paths):
    """The functions of those files: (path, name, names of those it calls)"""
    lines = {path: without_comments(tree.texts[path]).split('\n')
             for path in paths}
    return [(path, name, CALL.findall(
                '\n'.join(lines[path][first:first - 1 + n_lines])))
            for path, name, first, n_lines, _ in functions(tree.root, paths)]


def call_graph(calls):
    """module -> {module of the same folder that it calls: name of a callee}"""
    owners = {}  # (folder, name) -> modules that define it
    for path, name, _ in calls:
        owners.setdefault((folder_of(path), name), set()).add(module_of(path))
    graph = {module_of(path): {} for path, _, _ in calls}
    for path, _, callees in calls:
        caller = module_of(path)
        for callee in callees:
            found = owners.get((folder_of(path), callee), set())
            if len(found) == 1 and caller not in found:
                graph[caller].setdefault(*found, callee)
    return graph


def upward_calls(calls, folder):
    """The calls from folder of functions in sources of the folder above"""
    above = {name for path, name, _ in calls
             if folder_of(path) == folder_of(folder) and path.endswith('.c')}
    own = {name for path, name, _ in calls if folder_of(path) == folder}
    return {(path, callee) for path, _, callees in calls
            if folder_of(path) == folder
            for callee in callees if callee in above - own}


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
    calls = calls_of(tree, paths)
    for folder, allowed in UPWARD.items():
        for path, callee in sorted(upward_calls(calls, folder)):
            if callee not in allowed:
                yield (f'{path} calls {callee}() of the folder above, which '
                       f'UPWARD does not list')
    graph = call_graph(calls)
    for circle in circles(graph):
        folder = folder_of(circle[0])
        if len(circle) > FILES:
            calls = ', '.join(
                f'{module.rsplit("/", 1)[1]} calls {callee}()'
                for module in circle
                for called, callee in graph[module].items()
                if called in circle)
            yield (f'{folder}: {len(circle)} files call each other in a '
                   f'circle, more than {FILES}: {calls}')


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
    ({'worker/engine/a.c': 'void op_fail(void)\n{\n}\n'
      'void act(void)\n{\n}\n',
      'worker/engine/failure/b.c': 'void b(void)\n{\n    op_fail();\n'
      '    act();\n}\n'}, 'b.c calls act() of the folder above'),
]
