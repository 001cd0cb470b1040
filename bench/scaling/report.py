#!/usr/bin/env python3
"""bench/scaling/report.py - the tables and pictures of docs/scaling.md

report.py BUILD: runs BUILD/tools/hoop-sim/hoop-sim for two clusters, some
minutes, and writes what it says into docs/scaling.md and docs/scaling-*.svg.
"""

import concurrent.futures
import csv
import os
import subprocess
import sys

import page

OPS = ('allreduce', 'allgather', 'reduce_scatter', 'broadcast', 'alltoall',
       'barrier')
RANKS = (8, 32, 128, 512, 2048, 8192, 32768, 100000)
SIZES = ('1K', '1M', '64M')
CLUSTERS = (('one', 'One rank per host', 1), ('eight', 'Eight ranks per host', 8))


def simulate(build, name, per_host):
    """The rows, grouped: {(op, size): {ranks: [row, ...]}}."""
    here = os.path.join(os.path.dirname(__file__), '../..')
    command = [os.path.join(build, 'tools/hoop-sim/hoop-sim'),
               '--op', ','.join(OPS), '--ranks', ','.join(map(str, RANKS)),
               '--sizes', ','.join(SIZES),
               '--per-host', str(per_host), '--csv', '-',
               '--svg', os.path.join(here, 'docs', f'scaling-{name}.svg')]
    text = subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout
    groups = {}
    before = ('', 0)
    number = 0
    for row in csv.DictReader(text.splitlines()):
        # Sizes are cut down to blocks, so they are told by their order.
        op, ranks = row['op'], int(row['ranks'])
        if op != before[0]:
            number = 0
        elif ranks < before[1]:
            number += 1
        before = (op, ranks)
        groups.setdefault((op, SIZES[number]), {}).setdefault(ranks,
                                                              []).append(row)
    return groups


def time_text(row):
    us = float(row['time_us'])
    for unit, scale in (('us', 1), ('ms', 1e3), ('s', 1e6)):
        if us < 1000 * scale or unit == 's':
            text = f'{us / scale:.3g} {unit}'
            break
    text = ('~' if row['extrapolated'] == '1' else '') + text
    return f'**{text}**' if row['best'] == '1' else text


def label(op, size):
    return op if op == 'barrier' else f'{op}, {size}'


def heading(first):
    return [f'| {first} | ' + ' | '.join(f'{ranks:,}' for ranks in RANKS) +
            ' |', '|---|' + '--:|' * len(RANKS)]


def winners(groups):
    lines = heading('fastest').copy()
    lines[1] = '|---|' + '---|' * len(RANKS)
    for (op, size), by_ranks in groups.items():
        names = [next((row['algorithm'] for row in by_ranks.get(ranks, [])
                       if row['best'] == '1'), '') for ranks in RANKS]
        lines.append(f'| {label(op, size)} | ' + ' | '.join(names) + ' |')
    return lines


def times(groups):
    lines = []
    for (op, size), by_ranks in groups.items():
        lines += ['', *heading(label(op, size))]
        algorithms = []
        for rows in by_ranks.values():
            algorithms += [row['algorithm'] for row in rows
                           if row['algorithm'] not in algorithms]
        for algorithm in algorithms:
            cells = [next((time_text(row) for row in by_ranks.get(ranks, [])
                           if row['algorithm'] == algorithm), '')
                     for ranks in RANKS]
            lines.append(f'| {algorithm} | ' + ' | '.join(cells) + ' |')
    return lines


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        found = list(pool.map(
            lambda cluster: simulate(sys.argv[1], cluster[0], cluster[2]),
            CLUSTERS))
    for (name, title, _), groups in zip(CLUSTERS, found):
        lines += [f'### {title}', '', *winners(groups), '',
                  f'![time over ranks](scaling-{name}.svg)', *times(groups), '']
    page.replace('tables', '\n'.join(lines))


if __name__ == '__main__':
    main()
