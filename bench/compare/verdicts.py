"""bench/compare/verdicts.py - the cells as tables, and what was set out to reach"""

import cells
import intervals
import targets
from cases import OPS
from rivals import LIMITS, RIVALS
from schedules import size_text
from tables import (
    LINKS,
    bold,
    cpu,
    heading,
    in_order,
    name_of,
    percent,
    row,
    source,
    time_text,
)

SUMMARY_SIZES = (8, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 16 << 20, 64 << 20)
MARK = {intervals.FASTER: '', intervals.SLOWER: '**', intervals.UNKNOWN: '~'}
LEFT = '†'


def marked(cell):
    """Its ratio: bold if it is slower, behind ~ if that cannot be told."""
    mark = MARK[cell.verdict]
    return f'{mark}{cell.ratio:.2f}{mark if mark == "**" else ""}'


def number(value):
    return '' if value is None else f'{value:.2f}'


def bounds_text(cell):
    return ('' if cell.bounds is None else
            f'{cell.bounds[0]:.2f} to {cell.bounds[1]:.2f}')


def where(cell):
    size = f', {size_text(cell.n_bytes)}' if cell.n_bytes else ''
    return f'{LINKS[cell.link]} {cell.op}, {cell.n} ranks{size}'


def counts(some):
    return [len(cells.told(some, verdict)) for verdict in
            (intervals.FASTER, intervals.UNKNOWN, intervals.SLOWER)]


def worst_text(some):
    cell = cells.worst(some)
    return '' if cell is None else (
        f'{cell.ratio:.2f} at {size_text(cell.n_bytes)}')


# Summaries.

def summary(results, state, ranks):
    """A row for each link, operation and number of ranks."""
    yield from heading(['hoop / best rival', 'n',
                        *map(size_text, SUMMARY_SIZES), 'mean', 'faster',
                        '~', 'slower', 'worst slower'])
    for link in ('tcp', 'memory'):
        for op in OPS:
            for n in ranks:
                some = cells.cells_of_table(results, state, link, op, n)
                if not some:
                    continue
                by_size = {cell.n_bytes: cell for cell in some}
                yield row([f'{LINKS[link]} {op}', n, *(
                    marked(by_size[size]) if size in by_size else
                    marked(by_size[0]) if (0, 8) == (min(by_size), size)
                    else '' for size in SUMMARY_SIZES),
                    number(cells.mean(some)), *counts(some),
                    worst_text(some)])
    yield ''


def totals(results, state, ranks):
    """A row for each link, with targets if there are any for the state."""
    yield from heading(['all operations', 'cells', 'faster', '~', 'slower',
                        'of all', 'worst slower', 'geometric mean'])
    for link in ('memory', 'tcp'):
        some = cells.cells(results, state, ranks, (link,))
        if not some:
            continue
        n_slower = counts(some)[-1]
        share, worst = n_slower / len(some), cells.worst(some)
        share_text, mean_text = percent(share), number(cells.mean(some))
        if state == 'near' and ranks == cells.RANKS:
            share_max, mean_max = targets.CELLS[link]
            share_text += f' {targets.mark(share <= share_max)}'
            mean_text += f' {targets.mark(cells.mean(some) <= mean_max)}'
        bound = targets.WORST.get(state)
        yield row([LINKS[link], len(some), *counts(some), share_text,
                   '' if worst is None else
                   targets.judged(worst.ratio, bound) if bound else
                   number(worst.ratio), mean_text])
    yield ''


def slower_lines(results, state, ranks, causes):
    """Every cell that is told slower, the worst first."""
    some = sorted(cells.told(cells.cells(results, state, ranks),
                             intervals.SLOWER),
                  key=lambda cell: -cell.ratio)
    if not some:
        yield 'No cell is told slower.\n'
        return
    yield from heading(['told slower', 'ratio', 'interval', 'best rival',
                        'cause'])
    for cell in some:
        yield row([where(cell), number(cell.ratio), bounds_text(cell),
                   name_of(cell.rival), causes.of(cell) or 'not known'])
    yield ''


# Cells.

def time_of(table, library, n_bytes, gone):
    text = time_text(table.time(library, n_bytes))
    return f'{text} {LEFT}' if text and library in gone else text


def cell_lines(results, state, link, op, n):
    """The table of one operation: a row for each size."""
    some = cells.cells_of_table(results, state, link, op, n)
    if not some:
        return
    table = results.table(state, link, op, n)
    libraries = [library for library in in_order(table.libraries())
                 if library[0] in RIVALS or library[0] in LIMITS]
    has_limit = any(cell.limit for cell in some)
    beside = f', {state}' if state != 'near' else ''
    yield from heading([f'{op}, {LINKS[link]}, {n} ranks{beside}', 'hoop',
                        *map(name_of, libraries), 'hoop / best rival',
                        'interval', 'verdict', 'rounds',
                        *(['hoop / limit'] if has_limit else [])])
    for cell in some:
        gone = cells.left(results, cell)
        yield row([size_text(cell.n_bytes), time_text(cell.own),
                   *(time_of(table, library, cell.n_bytes, gone)
                     for library in libraries), bold(cell.ratio),
                   bounds_text(cell), cell.verdict, cell.n_rounds,
                   *([number(cell.limit)] if has_limit else [])])
    yield f'\n{source(table)}\n'


def state_lines(results, state, ranks, causes):
    """What is said of one state, but for the tables of all cells; nothing if
    nothing was measured in it."""
    if cells.cells(results, state, ranks):
        yield from totals(results, state, ranks)
        yield from summary(results, state, ranks)
        yield from slower_lines(results, state, ranks, causes)


def all_cells(results, state, ranks):
    for op in OPS:
        for link in ('tcp', 'memory'):
            for n in ranks:
                yield from cell_lines(results, state, link, op, n)


# Targets.

def judged_at(ratio, bound, size):
    place = '' if ratio is None else f' at {size_text(size)}'
    return targets.judged(ratio, bound) + place


def limit_targets(results):
    """The worst size of an allreduce of two ranks, against no library."""
    for link, bounds in targets.LIMITS.items():
        some = [cell for cell in cells.cells_of_table(
            results, 'near', link, 'allreduce', 2) if cell.limit]
        for first, last, bound in bounds:
            ratio, size = max(((cell.limit, cell.n_bytes) for cell in some
                               if first <= cell.n_bytes <= last),
                              default=(None, 0))
            sizes = f'{size_text(first)} to {size_text(last)}'
            yield (f'allreduce, {LINKS[link]}, 2 ranks, {sizes}: of the limit, worst',
                   f'<= {bound}', judged_at(ratio, bound, size))


def line_targets(results):
    """(what, bound, reached) of slow links, and of what cannot be coded."""
    size = 64 << 20
    for (link, n), bounds in targets.LINE.items():
        table = results.table('any', link, 'allreduce', n)
        at = f'{LINKS[link]}, {n} hosts, 64M'
        for codec, bound in bounds.items():
            time = table.time(('hoop', codec), size) if table else None
            share = targets.line_share(link, n, size, time) if time else None
            yield (f'{at}, {name_of(("hoop", codec))}: of the line',
                   f'>= {bound}', targets.judged(share, bound, True))
        if 'tcp-auto' in bounds or link == '10gbit':
            yield (f'{at}, auto on noise: of the speed without',
                   f'>= {targets.NOISE}',
                   coding_cost(table, size, 'tcp', 'tcp-auto-noise'))
    table = results.table('near', 'tcp', 'allreduce', 2)
    yield ('TCP, 2 ranks, 64M, auto on noise: of the speed without',
           f'>= {targets.NOISE}',
           coding_cost(table, size, 'tcp-noise', 'tcp-auto-noise'))


def coding_cost(table, size, without, with_codec):
    plain = table and table.time(('hoop', without), size)
    coded = table and table.time(('hoop', with_codec), size)
    return targets.judged(plain / coded if plain and coded else None,
                          targets.NOISE, True)


def startup_target(results):
    table = results.table('any', 'startup', 'whole', 32)
    reached = table.ratio(0, ('openmpi4',)) if table else None
    yield ("start-up of 32 ranks, a barrier, the end: of Open MPI 4's",
           f'<= {targets.STARTUP}', targets.judged(reached, targets.STARTUP))


def cpu_targets(results):
    """The worst size from 1 MiB up."""
    for n in (2, 4, 8):
        table = results.table('near', 'tcp', 'allreduce', n)
        ratios = [] if not table else [
            (own / least, size) for size in table.sizes() if size >= 1 << 20
            if (own := cpu(table, 'allreduce', n, ('hoop', 'tcp'), size)) and
            (least := min((spent for library in table.libraries()
                           if library[0] == 'gloo' and
                           (spent := cpu(table, 'allreduce', n, library,
                                         size))),
                          default=None))]
        ratio, size = max(ratios, default=(None, 0))
        yield (f"CPU s/GB, allreduce, TCP, {n} ranks: of Gloo's least, worst",
               '<= 1', judged_at(ratio, 1, size))


def target_lines(results):
    yield from heading(['what', 'target', 'reached'])
    for what in (limit_targets, line_targets, startup_target, cpu_targets):
        yield from map(row, what(results))
