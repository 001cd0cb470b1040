"""tests/style/tree.py - the files of the project as the rules see them

A rule is a module with `complaints(tree)`, which yields one line a fault, and
`BAD`, a list of (files, words): a small tree that the rule must complain about
in these words. `GOOD` are trees that it must accept.
"""

import os
import re

FOLDERS = ('include', 'common', 'worker', 'server', 'tools', 'python', 'examples',
           'bench', 'tests', 'deploy', 'docs')
C_SUFFIXES = ('.c', '.h')


class Tree:
    """Files below root: path with slashes to text."""

    def __init__(self, root):
        self.root = root
        self.texts = {}
        for folder in FOLDERS:
            self._add(folder)
        for name in sorted(os.listdir(root)):
            if name.endswith('.md'):
                self._read(os.path.join(root, name))

    def _add(self, folder):
        for at, folders, names in os.walk(os.path.join(self.root, folder)):
            folders[:] = sorted(f for f in folders
                                if f not in ('corpus', '__pycache__', 'out'))
            for name in sorted(names):
                self._read(os.path.join(at, name))

    def _read(self, path):
        relative = os.path.relpath(path, self.root).replace(os.sep, '/')
        try:
            with open(path, encoding='utf-8') as file:
                self.texts[relative] = file.read()
        except UnicodeDecodeError:
            pass  # data

    def c_files(self, *folders):
        """(path, text) of C sources and headers, all or below the folders."""
        for path, text in self.texts.items():
            if path.endswith(C_SUFFIXES) and (
                    not folders or path.startswith(tuple(
                        folder + '/' for folder in folders))):
                yield path, text


def includes(text):
    """(line number, name as in #include, quoted or not) of every include."""
    pattern = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
    for number, line in enumerate(text.split('\n'), 1):
        found = pattern.match(line)
        if found:
            yield number, found.group(2), found.group(1) == '"'


def without_comments(text):
    """The text with comments and strings blanked, lines kept."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                         r"|'(?:\\.|[^'\\\n])+'", re.S)
    return pattern.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text)


def markdown_rows(text, first_heading):
    """The rows, as lists of cells, of the table whose first heading it is."""
    rows = []
    inside = False
    for line in text.split('\n'):
        cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
        if cells[0] == first_heading and line.startswith('|'):
            inside = True
        elif inside and line.startswith('|'):
            if not set(cells[0]) <= set('-: '):
                rows.append(cells)
        elif inside:
            break
    return rows
