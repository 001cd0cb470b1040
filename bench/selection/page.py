#!/usr/bin/env python3
"""bench/selection/page.py - the parts of docs/selection.md that are measured

page.py OUT: reads what run.sh wrote and replaces the sections of the transports
that it measured, between <!-- measured --> and <!-- end of measured --> there.
"""

import datetime
import glob
import os
import re
import sys

from jobs import LIMIT, cases_of, size_text, states_of
from record import judge_texts
from report import case_table, jobs_text, sums, worst_table

PAGE = os.path.join(os.path.dirname(__file__), '../../docs/selection.md')
BEGIN, END = '<!-- measured -->\n', '<!-- end of measured -->\n'
TITLES = {'tcp': 'Over TCP', 'shm': 'In shared memory',
          'direct': "In shared memory, and out of each other's buffers"}


def is_uneven(key):
    return key[0].endswith('v')


def grid(cases):
    """A row for each collective and number of ranks, a column for each size, by
    what was asked for: blocks that are not a multiple are cut a little."""
    asked = sorted({key[2] for key in cases
                    if key[1] in (2, 4, 8) and key[2] > 0})
    yield '| collective | ranks | ' + ' | '.join(map(size_text, asked)) + ' |'
    yield '|---|---:' + '|---:' * len(asked) + '|'
    for op, ranks in sorted({key[:2] for key in cases}):
        cells = {}
        for key, case in cases.items():
            if key[:2] == (op, ranks) and key[2] > 0:
                size = min(asked, key=lambda size, n=key[2]: abs(size - n)
                           / min(size, n))
                cells[size] = f'{case.chosen_ratio():.2f}'
        if cells:
            yield (f'| {op} | {ranks} | ' +
                   ' | '.join(cells.get(size, '') for size in asked) + ' |')


def state_sums(folder):
    """Of jobs of one state of the processors each."""
    states = states_of(folder)
    for state in ('near', 'far'):
        if state not in states.values():
            continue
        cases = cases_of(folder, state)
        ratios = [case.chosen_ratio() for case in cases.values()]
        n_within = sum(ratio <= LIMIT for ratio in ratios)
        yield (f'Of jobs with processors {state} alone: {n_within} of '
               f'{len(ratios)}, worst {max(ratios):.2f}.')


def section(out, transport):
    """The text below the title of a transport."""
    folder = os.path.join(out, transport)
    cases = cases_of(folder)
    even = {key: case for key, case in cases.items() if not is_uneven(key)}
    uneven = {key: case for key, case in cases.items() if is_uneven(key)}
    with open(os.path.join(out, 'processors'), encoding='utf-8') as file:
        n_processors = int(file.read())
    texts = [f'Measured {date_of(folder):%Y-%m-%d}, {n_processors} virtual '
             f'processors, {model_of()}.']
    texts.append('\n'.join([jobs_text(folder, cases), *sums(cases),
                            *state_sums(folder)]))
    texts.append('\n'.join(f'- {text[0].upper()}{text[1:]}.'
                           for text in judge_texts(cases)))
    texts.append('Chosen over best:')
    texts.append('\n'.join(grid(even)))
    if uneven:
        texts.append('Of the forms with uneven blocks, the worst:')
        texts.append('\n'.join(worst_table(uneven)))
    rows = list(case_table(cases, False))
    if len(rows) > 2:
        texts.append(f'Every case above {LIMIT:.2f}:')
        texts.append('\n'.join(rows))
    return '\n\n'.join(texts)


def date_of(folder):
    """When the last job ended."""
    paths = glob.glob(os.path.join(folder, '*.csv'))
    newest = max(map(os.path.getmtime, paths), default=0)
    return datetime.datetime.fromtimestamp(newest, datetime.timezone.utc)


def model_of():
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        for line in file:
            if line.startswith('model name'):
                return line.split(':')[1].strip()
    return 'an unknown processor'


def sections_of(text):
    """{title: what stands below it}."""
    return dict(re.findall(r'^## (.*?)\n\n(.*?)\n*(?=^## |\Z)', text,
                           re.MULTILINE | re.DOTALL))


def main():
    out = sys.argv[1]
    with open(PAGE, encoding='utf-8') as file:
        head, rest = file.read().split(BEGIN)
    measured, tail = rest.split(END)
    sections = sections_of(measured)
    for transport, title in TITLES.items():
        if cases_of(os.path.join(out, transport)):
            sections[title] = section(out, transport)
        else:
            print(f'{title}: nothing was measured: it stays')
    text = '\n\n'.join(f'## {title}\n\n{sections[title]}'
                       for title in TITLES.values() if title in sections)
    with open(PAGE, 'w', encoding='utf-8') as file:
        file.write(f'{head}{BEGIN}\n{text}\n\n{END}{tail}')


if __name__ == '__main__':
    main()
