#!/usr/bin/env python3
"""bench/selection/report.py - what hoop chose beside the best it could force

report.py FOLDER [all]: reads what run.sh wrote and prints two tables in
Markdown: the worst quotient for each collective and number of ranks, and a row
for each size: what was chosen, its time, the best forced algorithm, its time,
and the quotient. A time is the median over the jobs of their medians; the
chosen one is measured twice in each job, as auto and forced, and the mean of
the two counts. Without "all", only rows above LIMIT.
"""

import csv
import glob
import os
import statistics
import sys

LIMIT = 1.15
CHOSEN = 'chosen'


def job_of(path):
    """(op, bytes) -> {algorithm: [medians in us]}, and what was chosen."""
    cases, chosen = {}, {}
    with open(path, encoding='utf-8') as file:
        for row in csv.DictReader(file):
            key = row['op'], int(row['bytes'])
            if key[1] == 0:
                continue
            name = row['algorithm'].removeprefix('auto:')
            if name != row['algorithm']:
                chosen[key] = name
            times = cases.setdefault(key, {})
            times.setdefault(name, []).append(float(row['p50_us']))
    return cases, chosen


def rows_of(folder):
    """(op, ranks, bytes) -> {algorithm: us}, of the chosen; and their names.

    Jobs may have chosen differently: the chosen one stands as CHOSEN.
    """
    cases, names = {}, {}
    for path in glob.glob(os.path.join(folder, '*-*.csv')):
        ranks = int(os.path.basename(path).split('-')[0])
        job, chosen = job_of(path)
        for (op, n_bytes), times in job.items():
            key = op, ranks, n_bytes
            here = cases.setdefault(key, {})
            for name, medians in times.items():
                here.setdefault(name, []).append(statistics.mean(medians))
            name = chosen[op, n_bytes]
            here.setdefault(CHOSEN, []).append(here[name][-1])
            names.setdefault(key, set()).add(name)
    return {key: {name: statistics.median(medians)
                  for name, medians in times.items()}
            for key, times in cases.items()}, names


def size_text(n_bytes):
    for unit in ('B', 'KiB', 'MiB'):
        if n_bytes < 1024:
            return f'{n_bytes} {unit}'
        n_bytes //= 1024
    return f'{n_bytes} GiB'


def ratio_of(times):
    best = min(times.values())
    return times[CHOSEN] / best if best > 0 else 1


def print_worst(cases):
    """A row for each collective: the worst quotient for each number of ranks."""
    sizes = sorted({ranks for _, ranks, _ in cases})
    print('| collective | ' + ' | '.join(f'{n} ranks' for n in sizes) + ' |')
    print('|---' + '|---:' * len(sizes) + '|')
    for op in sorted({op for op, _, _ in cases}):
        cells = []
        for n in sizes:
            worst = max((ratio_of(cases[key]), key[2])
                        for key in cases if key[:2] == (op, n))
            cells.append(f'{worst[0]:.2f} ({size_text(worst[1])})')
        print(f'| {op} | ' + ' | '.join(cells) + ' |')
    print()


def print_rows(cases, chosen, everything):
    print('| collective | ranks | size | chosen | us | best | us | ratio |')
    print('|------------|------:|-----:|--------|---:|------|---:|------:|')
    for key in sorted(cases):
        op, ranks, n_bytes = key
        times, name = cases[key], ' or '.join(sorted(chosen[key]))
        best = min(times, key=times.get)
        ratio = ratio_of(times)
        if everything or ratio > LIMIT:
            print(f'| {op} | {ranks} | {size_text(n_bytes)} | {name} | '
                  f'{times[CHOSEN]:.1f} | {best} | {times[best]:.1f} | '
                  f'{ratio:.2f} |')


def main():
    cases, chosen = rows_of(sys.argv[1])
    print_worst(cases)
    print_rows(cases, chosen, len(sys.argv) > 2)
    ratios = [ratio_of(times) for times in cases.values()]
    within = sum(ratio <= LIMIT for ratio in ratios)
    print(f'\n{within} of {len(ratios)} cases within {LIMIT:.2f} of the best, '
          f'worst {max(ratios):.2f}.')


if __name__ == '__main__':
    main()
