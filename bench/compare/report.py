#!/usr/bin/env python3
"""bench/compare/report.py - docs/benchmarks.md and its pictures

report.py RESULTS TARGET [--part]: of the CSV files that bench/compare/measure.py
has left in RESULTS makes TARGET/benchmarks.md and TARGET/benchmarks/*.svg. With
--part, RESULTS has a part of a run only: its tables become a section of
TARGET/benchmarks.md, in place of an earlier part, and the others stay.
"""

import os
import re
import subprocess
import sys

import curves
import tables
import texts
from results import LIMITS, Results
from tables import LINKS, OPS, row, size_text
from verdicts import target_lines

# In pictures each library is one line, its fastest there.
LINES = {'hoop': ('hoop',), 'Open MPI': ('openmpi',), 'MPICH': ('mpich',),
         'Gloo': ('gloo',), 'torch': ('torch',), 'limit': LIMITS}


def curve_of(table, peers, to_text):
    return {to_text(size): best[0] for size in table.sizes()
            if (best := table.least(size, peers))}


def lines_of(table, to_text):
    """{name: {size: time}}, hoop with nothing coded."""
    lines = {name: curve_of(table, peers, to_text)
             for name, peers in LINES.items() if name != 'hoop'}
    lines['hoop'] = {to_text(size): time for size in table.sizes()
                     if (time := table.hoop(size))}
    return lines


def axis_time(time_us):
    for unit, scale in (('s', 1e6), ('ms', 1e3), ('us', 1)):
        if time_us >= scale:
            return f'{time_us / scale:.0f} {unit}'
    return f'{time_us * 1e3:.0f} ns'


def op_picture(results, op, link):
    tables = {n: table for n in (2, 4, 8)
              if (table := results.table('near', link, op, n))}
    sizes = sorted({size for table in tables.values()
                    for size in table.sizes()})
    panels = [(f'{op}, {LINKS[link]}, {n} ranks', lines_of(table, size_text))
              for n, table in tables.items()]
    return curves.picture(panels, list(map(size_text, sizes)), axis_time)


def startup_picture(results):
    lines = {name: {} for name in LINES}
    for n in (2, 8, 32):
        table = results.table('any', 'startup', 'whole', n)
        for name, peers in LINES.items():
            best = table and table.least(0, peers)
            if best:
                lines[name][str(n)] = best[0]
    return curves.picture([('start-up, by ranks', lines)], ['2', '8', '32'],
                          axis_time)


def pictures(results):
    """(file name, title, SVG) of those there are numbers for."""
    for op in OPS[:-1]:
        for link in ('tcp', 'memory'):
            svg = op_picture(results, op, link)
            if svg:
                yield f'{op}-{link}.svg', f'{op}, {LINKS[link]}', svg
    svg = startup_picture(results)
    if svg:
        yield 'startup.svg', 'start-up', svg


def output(*command):
    """What a command says, or an empty text."""
    try:
        return subprocess.run(command, capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ''


def read(path, pattern):
    with open(path, encoding='utf-8') as file:
        found = re.search(pattern, file.read(), re.M)
    return found.group(1) if found else 'unknown'


def version(package):
    return (output('dpkg-query', '-W', '-f', '${Version}', package) or
            'not installed')


def machine(results):
    yield '| | |\n|---|---|'
    virtual = output('systemd-detect-virt') not in ('', 'none')
    yield row(['processors', f'{os.cpu_count()} x ' + read(
        '/proc/cpuinfo', r'^model name\s*:\s*(.*)$') +
        (', virtual' if virtual else '')])
    yield row(['memory', '%d GiB' % (int(read(
        '/proc/meminfo', r'MemTotal:\s*(\d+)')) >> 20)])
    yield row(['kernel', os.uname().release])
    for name, package in (('Open MPI', 'openmpi-bin'), ('MPICH', 'mpich'),
                          ('Gloo', 'libgloo-dev'), ('torch', 'python3-torch')):
        yield row([name, version(package)])
    yield row(['compiler', f'gcc {output("gcc", "-dumpfullversion")}'])
    for run in results.runs():
        n_rounds = len(results.rounds[run.name])
        yield row([f'run of {run.name[:16].replace("T", " ")}',
                   f'hoop {run.commit}, {n_rounds} '
                   f'round{"s" * (n_rounds > 1)}, load {run.load} before'])


def state_lines(results, state):
    """The tables of every operation; pictures are of the near state."""
    for op in OPS:
        lines = list(tables.barrier_tables(results, state) if op == 'barrier'
                     else tables.op_tables(results, op, state))
        if lines:
            yield op, lines


def part(results):
    """The section of a run that has measured some operations only."""
    yield texts.PART
    yield from machine(results)
    yield ''
    for state in ('near', 'far'):
        for _, lines in state_lines(results, state):
            yield from lines


def document(results, names):
    yield texts.HEAD
    yield '## Machine\n'
    yield from machine(results)
    yield texts.TARGETS
    yield from target_lines(results)
    for op, lines in state_lines(results, 'near'):
        yield f'\n## {op}\n'
        yield from (f'![{title}](benchmarks/{name})\n'
                    for name, title in names.items()
                    if name.startswith(f'{op}-'))
        yield from lines
    for text, lines in ((texts.LINKS, tables.link_tables(results)),
                        (texts.COST, tables.cost_tables(results, 'near')),
                        (texts.STARTUP, tables.startup_lines(results)),
                        (texts.CPU, tables.cpu_lines(results))):
        yield text
        yield from lines
    far = [line for _, lines in state_lines(results, 'far') for line in lines]
    far += tables.cost_tables(results, 'far')
    if far:
        yield '\n## With the processors far from each other\n'
        yield from far


def tidy(lines):
    return re.sub(r'\n{3,}', '\n\n', '\n'.join(lines)).rstrip('\n') + '\n'


def part_write(results, page):
    title = texts.PART.split('\n', 1)[0]
    with open(page, encoding='utf-8') as file:
        rest = re.sub(rf'\n{title}\n.*?(?=\n## |\Z)', '', file.read(), flags=re.S)
    with open(page, 'w', encoding='utf-8') as file:
        file.write(tidy([rest.rstrip('\n'), '', *part(results)]))


def whole_write(results, page):
    folder = page.removesuffix('.md')
    os.makedirs(folder, exist_ok=True)
    names = {}
    for name, title, svg in pictures(results):
        names[name] = title
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(svg)
    lines = list(document(results, names))
    # Written by bench/python/run.py and bench/torch/run.py, if they were.
    for name in ('python.md', 'torch.md'):
        section = os.path.join(folder, name)
        if os.path.exists(section):
            with open(section, encoding='utf-8') as file:
                lines += ['', file.read()]
    with open(page, 'w', encoding='utf-8') as file:
        file.write(tidy(lines))


def main():
    write = {2: whole_write, 3: part_write}.get(len(sys.argv) - 1)
    if not write or sys.argv[3:] not in ([], ['--part']):
        sys.exit(__doc__)
    write(Results(sys.argv[1]), os.path.join(sys.argv[2], 'benchmarks.md'))


if __name__ == '__main__':
    main()
