"""bench/compare/cells.py - cells with their verdicts, and why they are so

A cell is an operation of one size, on one link, among a number of ranks, in one
state of the machine.
"""

import collections
import os
import re
from statistics import geometric_mean

import intervals
import leaving
import schedules
from cases import OPS
from rivals import LIMITS, RIVALS

CAUSES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'causes.txt')
RANKS = (2, 3, 4)
STATES = ('near', 'far')
BUSY_STATES = ('busy', 'busy-far')

Cell = collections.namedtuple(
    'Cell', 'state link op n n_bytes own rival ratio bounds verdict n_rounds '
    'limit')


def all_states(results, state, link, op, n):
    """The tables of the states that are measured together with this one."""
    states = BUSY_STATES if state in BUSY_STATES else STATES
    return [table for other in states
            if (table := results.table(other, link, op, n))]


def cell_of(table, state, link, op, n, n_bytes):
    """None where hoop and a rival have no round in common."""
    ratios = table.ratios(n_bytes)
    if not ratios:
        return None
    rivals = {library: table.by_round(library, n_bytes)
              for library in table.libraries() if library[0] in RIVALS}
    bounds = intervals.interval(list(ratios.values()))
    limits = table.ratios(n_bytes, LIMITS)
    return Cell(state, link, op, n, n_bytes, table.hoop(n_bytes),
                intervals.best(table.by_round(table.own(), n_bytes),
                               rivals),
                intervals.middle(list(ratios.values())), bounds, intervals.verdict(bounds),
                len(ratios), intervals.middle(list(limits.values()))
                if limits else None)


def cells_of_table(results, state, link, op, n):
    """By size."""
    table = results.table(state, link, op, n)
    if table is None or not table.is_comparison():
        return []
    return [cell for n_bytes in table.sizes()
            if (cell := cell_of(table, state, link, op, n, n_bytes))]


def cells(results, state='near', ranks=RANKS, links=('tcp', 'memory')):
    return [cell for link in links for op in OPS for n in ranks
            for cell in cells_of_table(results, state, link, op, n)]


def left(results, cell):
    """The variants that are not measured there any more."""
    tables = all_states(results, *cell[:4])
    variants = dict.fromkeys(library for table in tables
                             for library in table.libraries())
    return {variant for variant in variants
            if leaving.has_left(tables, cell.n_bytes, variant)}


def mean(some):
    """The geometric mean of the ratios, or None."""
    return geometric_mean([cell.ratio for cell in some]) if some else None


def told(some, verdict):
    return [cell for cell in some if cell.verdict == verdict]


def worst(some):
    """The slowest cell of those that are told slower, or None."""
    return max(told(some, intervals.SLOWER), key=lambda cell: cell.ratio,
               default=None)


class Causes:
    """Why cells are slower, from a file with lines like

    [STATE] LINK OP RANKS SIZES: TEXT

    where SIZES is a size, or a range as 64K-16M, and each word may be * for
    any. STATE is near unless it is there. The first line that fits counts."""

    def __init__(self, text):
        self.lines = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if line and not line.startswith('#'):
                self.lines.append(self.parse(line, number))

    def parse(self, line, number):
        words, colon, cause = line.partition(':')
        words = words.split()
        if len(words) == 4:
            words.insert(0, 'near')
        sizes = re.fullmatch(r'\*|(\d+[KM]?)(?:-(\d+[KM]?))?', words[-1]
                             if words else '')
        if not colon or len(words) != 5 or not sizes or not cause.strip():
            raise ValueError(f'line {number} of the causes is not "[STATE] '
                             f'LINK OP RANKS SIZES: TEXT": {line}')
        first, last = sizes.groups()
        low = schedules.size_of(first) if first else 0
        high = (schedules.size_of(last) if last else low if first else
                float('inf'))
        return tuple(words[:4]), low, high, cause.strip()

    def of(self, cell):
        """The text, or None."""
        own = cell.state, cell.link, cell.op, str(cell.n)
        return next((cause for words, low, high, cause in self.lines
                     if low <= cell.n_bytes <= high and
                     all(word in ('*', name)
                         for word, name in zip(words, own))), None)


def causes_read(path=CAUSES):
    with open(path, encoding='utf-8') as file:
        return Causes(file.read())
