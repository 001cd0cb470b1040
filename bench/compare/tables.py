"""bench/compare/tables.py - numbers as Markdown: what is not a cell with a verdict

bench/compare/verdicts.py has those.
"""

from statistics import median

import targets
from rivals import RIVALS
from schedules import size_text

NAMES = {
    ('hoop', 'tcp'): 'hoop',
    ('hoop', 'shm'): 'hoop',
    ('hoop', 'hooprun'): 'hoop',
    ('hoop', 'hoopd'): 'hoop, with a hoopd of its own',
    ('hoop', 'tcp-noise'): 'hoop, on noise',
    ('hoop', 'tcp-auto-noise'): 'hoop, auto, on noise',
    ('hoop', 'tcp-auto'): 'hoop, auto, on a gradient',
    ('hoop', 'tcp-bf16'): 'hoop, bf16',
    ('hoop', 'tcp-bf16+auto'): 'hoop, bf16 and auto, on a gradient',
    ('hoop', 'off'): 'hoop',
    ('hoop', 'checksum'): 'HOOP_CHECKSUM=on',
    ('hoop', 'tls'): 'HOOP_TLS=on',
    ('hoop', 'tls-checksum'): 'both',
    **{(peer, transport): name for peer, name in RIVALS.items()
       for transport in ('tcp', 'shm', 'default')},
    **{('impi', f'{transport}-{how}'): f'Intel MPI, {text}'
       for transport in ('tcp', 'shm')
       for how, text in (('yield', 'yielding'), ('wait', 'sleeping'))},
    ('gloo', 'tcp-ring'): 'Gloo, ring',
    ('gloo', 'tcp-bcube'): 'Gloo, bcube',
    ('gloo', 'tcp-hd'): 'Gloo, halving-doubling',
    ('gloo', 'tcp-hd-busy'): 'Gloo, halving-doubling, busy',
    ('gloo', 'files'): 'Gloo',
    ('torch', 'files'): 'torch',
    ('sockets', 'ring-spin'): '(plain sockets, ring, spinning)',
    ('sockets', 'ring-poll'): '(plain sockets, ring, poll)',
    ('sockets', 'ring-yield'): '(plain sockets, ring, yielding)',
    ('sockets', 'doubling-spin'): '(plain sockets, doubling, spinning)',
    ('sockets', 'doubling-poll'): '(plain sockets, doubling, poll)',
    ('sockets', 'doubling-yield'): '(plain sockets, doubling, yielding)',
    ('memory', 'flat'): '(plain memory, whole vectors)',
    ('memory', 'staged'): '(plain memory, block by block)',
}
LINKS = {'tcp': 'TCP', 'memory': 'memory', '1gbit': '1 Gbit/s',
         '10gbit': '10 Gbit/s', 'startup': 'start-up', 'cost': 'TCP'}
OFF = ('hoop', 'off')


def time_text(time_us):
    if time_us is None:
        return ''
    return f'{time_us:.0f}' if time_us >= 100 else f'{time_us:.3g}'


def bold(ratio):
    return '' if ratio is None else f'**{ratio:.2f}**'


def percent(share):
    return '' if share is None else f'{share * 100:.0f} %'


def row(cells):
    return '| ' + ' | '.join(map(str, cells)) + ' |'


def heading(cells):
    yield row(cells)
    yield '|---|' + '---:|' * (len(cells) - 1)


def source(table):
    """When, and of which hoop."""
    return f'{table.run.name[:16].replace("T", " ")}, {table.run.commit}'


def name_of(library):
    return NAMES.get(library, ', '.join(library))


def in_order(libraries):
    order = list(NAMES)
    return sorted(libraries, key=lambda library: order.index(library)
                  if library in order else len(order))


# Slow links.

def shares(table, link, n):
    """{library: {size: share of the line}}."""
    return {library: {size: targets.line_share(link, n, size, time)
                      for size in table.sizes()
                      if (time := table.time(library, size))}
            for library in in_order(table.libraries())}


def link_tables(results):
    for link in targets.LINE_BITS:
        for n in (2, 4):
            table = results.table('any', link, 'allreduce', n)
            if not table:
                continue
            sizes = table.sizes()
            yield from heading([f'allreduce, {LINKS[link]}, {n} hosts', 'runs',
                                *map(size_text, sizes)])
            for library, points in shares(table, link, n).items():
                yield row([name_of(library), table.n_runs(library),
                           *(f'{points[size]:.2f}' if size in points else ''
                             for size in sizes)])
            yield row(['**hoop / best rival**, times', '',
                       *(bold(table.ratio(size)) for size in sizes)])
            yield f'\n{source(table)}\n'


# Start-up.

def startup_lines(results):
    tables = {n: results.table('any', 'startup', 'whole', n)
              for n in (2, 8, 32)}
    tables = {n: table for n, table in tables.items() if table}
    if not tables:
        return
    inner = {n: results.table('any', 'startup', 'startup', n) for n in tables}
    yield from heading(['seconds', *(f'{n} ranks, {end}' for n in tables
                                     for end in ('barrier', 'whole'))])
    libraries = dict.fromkeys(library for table in tables.values()
                              for library in table.libraries())
    for library in in_order(libraries):
        cells = [seconds for n in tables for seconds in
                 (inner[n].time(library, 0), tables[n].time(library, 0))]
        yield row([name_of(library), *('' if us is None else f'{us / 1e6:.3f}'
                                       for us in cells)])
    ratios = [ratio for n in tables for ratio in
              (inner[n].ratio(0), tables[n].ratio(0))]
    yield row(['**hoop / best rival**', *map(bold, ratios)])
    yield f'\n{source(list(tables.values())[-1])}\n'


# What is done to bytes on request.

def cost_tables(results, state):
    for op, n in (('allreduce', 2), ('allreduce', 4), ('pingpong', 2)):
        table = results.table(state, 'cost', op, n)
        if table and table.time(OFF, 8):
            yield from cost_lines(table, op, n,
                                  f'{op}, TCP, {n} ranks, {state}')


def cost_lines(table, op, n, title):
    sizes = table.sizes()
    ways = [way for way in in_order(table.libraries()) if way != OFF]
    large = [size for size in sizes if size >= 1 << 20]
    yield from heading([title, 'runs', *map(size_text, sizes)])
    yield row(['hoop', table.n_runs(OFF),
               *(time_text(table.time(OFF, size)) for size in sizes)])
    for way in ways:
        ratios = [table.quotients(way, OFF, size) for size in sizes]
        yield row([f'**{name_of(way)}, of that**', table.n_runs(way),
                   *(bold(median(some) if some else None)
                     for some in ratios)])
        yield row(['spread', '', *(percent((max(some) - min(some)) /
                                           median(some) if some else None)
                                   for some in ratios)])
    for way in (OFF, *ways):
        numbers = [size in large and cpu(table, op, n, way, size)
                   for size in sizes]
        yield row([f'{name_of(way)}, CPU s/GB', '',
                   *(f'{number:.2f}' if number else '' for number in numbers)])
    yield f'\n{source(table)}\n'


# Processor time.

def cpu_lines(results):
    for n in (2, 3, 4, 8):
        table = results.table('near', 'tcp', 'allreduce', n)
        if not table or not table.is_comparison():
            continue
        sizes = [size for size in table.sizes() if size >= 1 << 20]
        yield from heading([f'allreduce, TCP, {n} ranks, CPU s/GB',
                            *map(size_text, sizes)])
        for library in in_order(table.libraries()):
            numbers = [cpu(table, 'allreduce', n, library, size)
                       for size in sizes]
            if any(numbers):
                yield row([name_of(library), *('' if number is None else
                                               f'{number:.2f}'
                                               for number in numbers)])
        yield f'\n{source(table)}\n'


def cpu(table, op, n, library, size):
    us = table.processor_time(library, size)
    return targets.cpu_s_per_gb(op, n, size, us) if us else None
