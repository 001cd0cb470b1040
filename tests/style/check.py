"""tests/style/check.py - one rule on the tree, or on its own bad examples

check.py RULE ROOT          complaints about the project, one a line
check.py RULE --self-test   does the rule still find what it must?
"""

import importlib
import os
import sys
import tempfile

from tree import Tree


def complaints_on(rule, files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, 'w', encoding='utf-8') as file:
                file.write(text)
        return list(rule.complaints(Tree(root)))


def self_test(rule):
    faults = []
    for files in rule.GOOD:
        for complaint in complaints_on(rule, files):
            faults.append(f'complains about a good tree: {complaint}')
    for files, words in rule.BAD:
        found = complaints_on(rule, files)
        if not any(words in complaint for complaint in found):
            faults.append(f'does not say "{words}", but {found}')
    return faults


def main():
    rule = importlib.import_module(sys.argv[1])
    if sys.argv[2] == '--self-test':
        faults = self_test(rule)
    else:
        faults = list(rule.complaints(Tree(sys.argv[2])))
    for fault in faults:
        print(fault)
    print(f'{sys.argv[1]}: {len(faults)} complaints')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
